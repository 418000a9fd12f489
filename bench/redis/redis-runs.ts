import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { createHub, createWorkflow, type RunCtx } from '../../dist/index.js';
import { redisTransport } from '../../dist/transports/redis/index.js';
import { startRedisServer } from '../../scripts/redis-server.js';
import { countdown, inBatches } from '../measuring/batches.js';
import { compare, median } from '../measuring/measure.js';
import { withVersion } from '../measuring/peer-version.js';
import type { Row } from '../measuring/row.js';
import { untilSuspended } from '../measuring/until-suspended.js';
import { chainWorkflow, steps } from '../runs/chain-workflow.js';
import { calledRuns } from './called-runs.js';
import { cancelledHandler } from './cancelled-handler.js';
import { type ClosableContender, usedBytes } from './redis.js';

const runsPerRound = 1_000;
const concurrency = 64;
const fewSteps = 250;
const manySteps = 5_000;
const fewSuspended = 1_000;
const keptMs = 15_000;
const manySuspended = 20_000;
const resumed = 200;

/** Durable runs through Redis, next to a chain of bare BullMQ jobs, and suspended ones. */
export async function redisRuns(): Promise<Row[]> {
  const server = await startRedisServer();
  try {
    return [
      ...(await stepsBesideJobs(server.url)),
      ...(await commandsPerStep(server.url)),
      ...(await calledRuns(server.url)),
      ...(await cancelledHandler(server.url)),
      ...(await suspendedRuns(server.url)),
    ];
  } finally {
    await server.release();
  }
}

async function stepsBesideJobs(url: string): Promise<Row[]> {
  const bare = await chainOfJobs(url);
  const hubline = await runOfSteps(url);
  const rows = await compare({
    scenario: `Redis: a run of ${steps} steps, ${concurrency} at once`,
    unit: 'runs/s',
    times: runsPerRound,
    hubline: hubline.run,
    peers: [{ ...bare, target: { of: 'ratio', limit: 'at least', value: 0.5 } }],
  });
  for (const { close } of [bare, hubline]) await close();
  return rows;
}

/** Commands that Redis executes per step, those of scripts included, for few and for many parallel steps. */
async function commandsPerStep(url: string): Promise<Row[]> {
  const admin = new Redis(url);
  const hub = createHub({ transport: redisTransport({ url, prefix: randomUUID() }), concurrency, logger: false });
  const all = hub.workflow(
    createWorkflow({
      name: 'all',
      run: ({ input, step }: RunCtx<number>) =>
        Promise.all(Array.from({ length: input }, (_, n) => step.run(`step ${n}`, () => n))).then(() => null),
    }),
  );
  const retried = hub.workflow(
    createWorkflow({
      name: 'retried',
      run: async ({ input, step }: RunCtx<number>) => {
        const failing = (n: number, { attempt }: { readonly attempt: number }): number => {
          if (attempt === 1) throw new Error('once');
          return n;
        };
        const retry = { maxAttempts: 2, initialDelayMs: 10, jitter: false };
        await step.map(
          'element',
          Array.from({ length: input }, (_, n) => n),
          failing,
          { retry },
        );
      },
    }),
  );
  await hub.start();
  const perStep = async (workflow: typeof all, steps: number): Promise<number> => {
    const before = await executedCommands(admin);
    await (await hub.startWorkflow(workflow, steps)).result();
    return ((await executedCommands(admin)) - before) / steps;
  };
  const rows: Row[] = [];
  for (const [what, workflow] of [
    ['step', all],
    ['retried element of step.map', retried],
  ] as const) {
    rows.push({
      scenario: `Redis: commands per ${what}, ${manySteps.toLocaleString('en')} in parallel`,
      unit: 'commands',
      hubline: await perStep(workflow, manySteps),
      peer: { name: `${fewSteps} in parallel`, figure: await perStep(workflow, fewSteps) },
      target: { of: 'ratio', limit: 'at most', value: 1.1 },
    });
  }
  await hub.stop({ drainMs: 0 });
  admin.disconnect();
  return rows;
}

/** Returns the number of commands that the server has executed. */
async function executedCommands(admin: Redis): Promise<number> {
  const calls = [...(await admin.info('commandstats')).matchAll(/calls=(\d+)/g)];
  return calls.reduce((sum, [, count]) => sum + Number(count), 0);
}

async function runOfSteps(url: string): Promise<ClosableContender> {
  const hub = createHub({ transport: redisTransport({ url, prefix: randomUUID() }), concurrency });
  const ended = countdown();
  const workflow = hub.workflow(chainWorkflow(() => ended.count()));
  await hub.start();
  return {
    name: 'hubline',
    async run(times) {
      const done = ended.of(times);
      await inBatches(times, () => hub.startWorkflow(workflow, 1));
      await done;
    },
    close: async () => void (await hub.stop()),
  };
}

async function chainOfJobs(url: string): Promise<ClosableContender> {
  const name = randomUUID();
  const queue = new Queue(name, { connection: new Redis(url, { maxRetriesPerRequest: null }) });
  const ended = countdown();
  const worker = new Worker<{ link: number }>(
    name,
    async ({ data: { link } }) => {
      if (link === steps) ended.count();
      else await queue.add('link', { link: link + 1 });
    },
    { connection: new Redis(url, { maxRetriesPerRequest: null }), concurrency, removeOnComplete: { count: 0 } },
  );
  await worker.waitUntilReady();
  return {
    name: `${withVersion('bullmq')}, ${steps} jobs in a chain`,
    async run(times) {
      const done = ended.of(times);
      await inBatches(times, () => queue.add('link', { link: 1 }));
      await done;
    },
    async close() {
      await worker.close();
      await queue.close();
    },
  };
}

async function suspendedRuns(url: string): Promise<Row[]> {
  const admin = new Redis(url);
  const hub = createHub({ transport: redisTransport({ url, prefix: randomUUID() }), concurrency });
  const confirmed = hub.event<{ id: string }>({ type: 'confirmed', key: ({ id }) => id });
  const ended = countdown();
  const workflow = hub.workflow(
    createWorkflow({
      name: 'confirm',
      retain: { completed: 0 },
      run: async ({ input, step }: RunCtx<{ id: string }>) => {
        await step.run('ask', () => null);
        await step.waitForEvent('confirmed', confirmed, { key: input.id, timeoutMs: 86_400_000 });
        ended.count();
      },
    }),
  );
  await hub.start();
  const payloads = Array.from({ length: manySuspended }, (_, n) => ({ id: `order ${n}` }));
  const suspend = async (from: number, to: number): Promise<void> => {
    let next = from;
    await inBatches(to - from, () => hub.startWorkflow(workflow, payloads[next++] ?? { id: '' }));
  };
  /** Returns the milliseconds from an event to the end of the run that it resumes. */
  const resume = async (from: number): Promise<number> => {
    const times: number[] = [];
    for (let n = from; n < from + resumed; n += 1) {
      const startedAt = performance.now();
      const done = ended.of(1);
      await hub.emit(confirmed, { id: `order ${n}` });
      await done;
      times.push(performance.now() - startedAt);
    }
    return median(times);
  };
  const before = await usedBytes(admin);
  await suspend(0, fewSuspended);
  await untilSuspended(hub, fewSuspended);
  await resume(0);
  const few = await resume(resumed);
  const remaining = manySuspended - 2 * resumed;
  await suspend(fewSuspended, manySuspended);
  await untilSuspended(hub, remaining);
  // Redis keeps for ten seconds what the process that started a run may ask for.
  await delay(keptMs);
  const payloadBytes = JSON.stringify(payloads[0]).length;
  const bytes = ((await usedBytes(admin)) - before) / remaining - payloadBytes;
  const many = await resume(manySuspended - resumed);
  await hub.stop({ drainMs: 0 });
  admin.disconnect();
  return [
    {
      scenario: 'Redis: memory of a suspended run, beside its payload',
      unit: 'bytes',
      hubline: bytes,
      target: { of: 'figure', limit: 'at most', value: 1_000 },
    },
    {
      scenario: `Redis: resume one of ${manySuspended.toLocaleString('en')} suspended runs`,
      unit: 'ms',
      hubline: many,
      peer: { name: `of ${fewSuspended.toLocaleString('en')}`, figure: few },
      target: { of: 'ratio', limit: 'at most', value: 3 },
    },
  ];
}
