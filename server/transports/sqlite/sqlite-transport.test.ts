import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { createFakeClock } from '../../testing/fake-clock.js';
import type { ContractHarness } from '../contract/contract-stage.js';
import {
  contractCodec,
  describeCodedTransport,
  describePendingEvents,
  describeTransport,
} from '../contract/describe-transport.js';
import { describeDeadLetterAge } from '../contract/records/dead-letter-age.js';
import { maxDeadLetters } from '../contract/records/dead-letters.js';
import { retainedRecent } from '../limits.js';
import { silentLogger, type Transport, type TransportManager } from '../transport.js';
import { openPatiently } from './open-patiently.fixture.js';
import type { SqliteTransportOptions } from './sqlite-options.js';
import { sqliteTransport } from './sqlite-transport.js';

let folder: string;
let files = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hubline-sqlite-'));
});
afterAll(() => rm(folder, { recursive: true }));

// After a restart a delayed event that was due counts as waiting, and so does a run until a lower version has met it.
const uncounted = { delayed: undefined, awaitingVersion: undefined };

/** Returns everything that must survive a restart. */
async function stateOf(transport: Transport, file: string, services: Iterable<string>): Promise<object> {
  const database = await openPatiently(file, { readOnly: true });
  const types = [
    ...new Set(
      database
        .prepare('SELECT type FROM queues ORDER BY type')
        .all()
        .map(({ type }) => String(type)),
    ),
  ];
  database.close();
  const perService = [];
  for (const service of services) {
    const manager = transport.connect({ service, logger: silentLogger });
    const { counts, activity, total, runs, schedules } = await manager.lookup.overview({
      types,
      runTypes: types,
      runLimit: 50,
    });
    perService.push({
      service,
      counts: counts.map(({ services: all }) =>
        all.map(({ counts: each, ...rest }) => ({ ...rest, counts: { ...each, ...uncounted } })),
      ),
      activity,
      total,
      runs,
      schedules: schedules
        .map(({ revision: _, ...schedule }) => schedule)
        .sort((a, b) => a.service.localeCompare(b.service) || a.name.localeCompare(b.name)),
      metrics: await Promise.all(
        types.map(async (type) => ({ ...(await manager.counts.metrics(type)), ...uncounted })),
      ),
      failures: await Promise.all(types.map((type) => manager.counts.failures(type))),
      recent: (await Promise.all(types.map((type) => manager.lookup.recent(type)))).map(({ newest, failed }) =>
        // Of events that were accepted in one millisecond, any may be among the newest.
        [newest, failed].map((events) =>
          events.length < retainedRecent ? new Map(events.map((event) => [event.id, event])) : undefined,
        ),
      ),
      deadLetters: await Promise.all(types.map((type) => manager.deadLetters.list(type, 1_000))),
    });
    await manager.close({ drainMs: 0 });
  }
  return perService;
}

async function createHarness(options: Partial<SqliteTransportOptions>): Promise<ContractHarness> {
  const clock = createFakeClock();
  files += 1;
  const file = join(folder, `${files}.db`);
  const transport = sqliteTransport({ file, synchronous: 'normal', clock, ...options });
  // Keeps the file open until the end of the test.
  const keeper = transport.connect({ service: 'keeper', logger: silentLogger });
  await keeper.counts.get([]);
  const opened: TransportManager[] = [];
  return {
    connect(service) {
      const manager = transport.connect({ service, logger: silentLogger });
      opened.push(manager);
      return manager;
    },
    advance: (ms) => clock.advance(ms),
    now: async () => clock.now(),
    async release() {
      for (const manager of opened) await manager.close({ drainMs: 0 });
      const services = new Set(opened.map(({ service }) => service));
      const before = await stateOf(transport, file, services);
      await keeper.close({ drainMs: 0 });
      expect(await stateOf(transport, file, services)).toEqual(before);
      await clock.settle();
      expect(clock.pendingTimers).toBe(0);
    },
  };
}

describeTransport('sqlite', () => createHarness({ maxDeadLetters }));
describeCodedTransport('sqlite', () => createHarness({ maxDeadLetters, codec: contractCodec }));
describeDeadLetterAge('sqlite', (maxDeadLetterAgeMs) => createHarness({ maxDeadLetterAgeMs }));
describePendingEvents('sqlite with three events in memory', () =>
  createHarness({ maxDeadLetters, maxPendingInMemory: 3 }),
);
