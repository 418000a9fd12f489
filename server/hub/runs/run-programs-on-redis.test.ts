import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, it } from 'vitest';
import { runs } from '../../../scripts/property-tests.js';
import { type RedisServer, startRedisServer } from '../../../scripts/redis-server.js';
import { TransportUnavailableError } from '../../transports/errors.js';
import { startSwitchingProxy } from '../../transports/redis/connection/switching-proxy.fixture.js';
import { redisTransport } from '../../transports/redis/redis-transport.js';
import type { Hub } from '../hub.js';
import { createProgramHub, disturbanceOf, expectEnds, Journal, program, signal } from './run-programs.fixture.js';
import type { WorkflowHandle } from './workflow-handle.js';

// It ends what hangs. A busy machine may stand still for seconds.
const stuckAfterMs = 60_000;
// The longest interval of all processes decides how soon the runs of a lost one continue.
const stalledIntervalMs = 200;
const programsPerRun = 12;

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedisServer();
});
afterAll(() => redis.release());

/** Process whose connections can be lost for good: it neither releases nor renews its leases then. */
async function startProcess(prefix: string, journal: Journal): Promise<{ readonly hub: Hub; crash(): Promise<void> }> {
  const proxy = await startSwitchingProxy(redis.port);
  const url = `redis://127.0.0.1:${proxy.port}`;
  const leases = { lockDurationMs: 400, stalledIntervalMs, maxCrashes: 1_000, emitTimeoutMs: 1_000 };
  const hub = createProgramHub(redisTransport({ url, prefix, ...leases }), journal);
  try {
    await hub.start();
  } catch (error) {
    // A longer time limit would also be how long a lost process takes to stop.
    if (!(error instanceof TransportUnavailableError)) throw error;
    proxy.close();
    return startProcess(prefix, journal);
  }
  return {
    hub,
    async crash() {
      proxy.close();
      await hub.stop({ drainMs: 0 }).catch(() => {});
    },
  };
}

/** Waits until nothing is pending. @throws {Error} if nothing changes for `stuckAfterMs`: programs may take long */
async function untilEnded(hub: Hub): Promise<void> {
  let [revision, changedAt] = ['', performance.now()];
  for (;;) {
    const { workflows, events } = await hub.introspect();
    const pending = [...workflows, ...events].filter(({ metrics }) => metrics.pending > 0);
    if (pending.length === 0) return;
    const current = await hub.transport.counts.revision();
    if (current !== revision) [revision, changedAt] = [current, performance.now()];
    if (performance.now() - changedAt > stuckAfterMs) throw new Error(`stuck: ${JSON.stringify(pending)}`);
    await delay(20);
  }
}

it('ends every random program on Redis as its model says while processes are lost', async () => {
  const programs = fc.array(program, { minLength: programsPerRun, maxLength: programsPerRun });
  const disturbances = fc.array(disturbanceOf(programsPerRun), { minLength: 10, maxLength: 25 });
  await fc.assert(
    fc.asyncProperty(programs, disturbances, async (inputs, events) => {
      const prefix = randomUUID();
      const journal = new Journal();
      const transport = redisTransport({ url: redis.url, prefix, stalledIntervalMs, emitTimeoutMs: 60_000 });
      const steady = createProgramHub(transport, journal, { concurrency: 1 });
      await steady.start();
      const crashed: Promise<void>[] = [];
      let current = await startProcess(prefix, journal);
      const runs: WorkflowHandle[] = [];
      for (const input of inputs) runs.push(await steady.startWorkflow('program', input));
      const cancelled = new Set<number>();
      for (const event of events) {
        if (event.do === 'advance') await delay(event.ms);
        else if (event.do === 'signal') await signal(steady, event.key);
        else if (event.do === 'cancel') {
          const run = runs[event.run];
          if (run !== undefined && (await journal.cancel(run))) cancelled.add(event.run);
        } else {
          crashed.push(current.crash());
          current = await startProcess(prefix, journal);
        }
      }
      const runIds = runs.map(({ runId }) => runId);
      await untilEnded(steady);
      await expectEnds(steady, journal, { programs: inputs, runIds, cancelled });
      await Promise.all([...crashed, current.hub.stop({ drainMs: 0 }), steady.stop({ drainMs: 0 })]);
      await current.crash();
    }),
    // A smaller program would take as long, and meet other timings.
    { numRuns: runs(2), endOnFailure: true },
  );
}, 1_200_000);
