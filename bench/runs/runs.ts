import { createHub, createWorkflow, type RunCtx } from '../../dist/index.js';
import { batch, countdown } from '../measuring/batches.js';
import { compare, median } from '../measuring/measure.js';
import type { Row } from '../measuring/row.js';
import { untilSuspended } from '../measuring/until-suspended.js';
import { chainWorkflow, steps } from './chain-workflow.js';

const replayed = 1_000;
const elements = 10_000;
const suspended = 100_000;
const resumed = 1_000;
const rounds = 5;

/** Durable runs in process: beside a chain of plain events, replaying, over many elements, and suspended. */
export async function runs(): Promise<Row[]> {
  return [...(await stepsBesideEvents()), await replay(), ...(await map()), ...(await suspension())];
}

async function stepsBesideEvents(): Promise<Row[]> {
  return compare({
    scenario: `a run of ${steps} steps, ${batch} at once`,
    unit: 'runs/s',
    times: 20_000,
    hubline: await runOfSteps(),
    peers: [
      {
        name: `${steps} plain events in a chain`,
        run: await chainOfEvents(),
        target: { of: 'ratio', limit: 'at least', value: 0.5 },
      },
    ],
  });
}

async function runOfSteps(): Promise<(times: number) => Promise<void>> {
  const hub = createHub();
  const ended = countdown();
  const workflow = hub.workflow(chainWorkflow(() => ended.count()));
  await hub.start();
  return async (times) => {
    for (let from = 0; from < times; from += batch) {
      const done = ended.of(batch);
      for (let i = 0; i < batch; i += 1) void hub.startWorkflow(workflow, i);
      await done;
    }
  };
}

async function chainOfEvents(): Promise<(times: number) => Promise<void>> {
  const hub = createHub();
  const ended = countdown();
  for (let i = 0; i < steps; i += 1) {
    const isLast = i === steps - 1;
    hub.event<number>({
      type: `link ${i}`,
      ...(!isLast && { onSuccess: `link ${i + 1}` }),
      handler: async ({ payload }) => {
        if (isLast) ended.count();
        return payload + 1;
      },
    });
  }
  await hub.start();
  return async (times) => {
    for (let from = 0; from < times; from += batch) {
      const done = ended.of(batch);
      for (let i = 0; i < batch; i += 1) void hub.emit('link 0', i);
      await done;
    }
  };
}

/** From the event that resumes a run to its result: every step before the wait is replayed. */
async function replay(): Promise<Row> {
  const hub = createHub();
  hub.event({ type: 'go' });
  const workflow = hub.workflow(
    createWorkflow({
      name: 'long',
      run: async ({ step }: RunCtx<null>) => {
        for (let i = 0; i < replayed; i += 1) await step.run('add', () => i);
        return step.waitForEvent('go', 'go');
      },
    }),
  );
  await hub.start();
  const times: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const run = await hub.startWorkflow(workflow, null);
    await untilSuspended(hub, 1);
    const startedAt = performance.now();
    await hub.emit('go', null);
    await run.result();
    if (round > 0) times.push(performance.now() - startedAt);
  }
  await hub.stop();
  return {
    scenario: `replay of a run with ${replayed.toLocaleString('en')} recorded steps`,
    unit: 'ms',
    hubline: median(times),
    target: { of: 'figure', limit: 'at most', value: 20 },
  };
}

async function map(): Promise<Row[]> {
  const collectGarbage = requireGarbageCollector();
  const hub = createHub();
  const end = { at: 0, heap: 0 };
  const workflow = hub.workflow(
    createWorkflow({
      name: 'map',
      retain: { completed: 0 },
      run: async ({ input, step }: RunCtx<number>) => {
        const results = await step.map('add', Array.from({ length: input }), async (_, _ctx, index) => index, {
          concurrency: 100,
        });
        // While all results are recorded, and the run still holds them.
        end.at = performance.now();
        collectGarbage();
        end.heap = process.memoryUsage().heapUsed;
        return results.length;
      },
    }),
  );
  await hub.start();
  const costOf = async (length: number): Promise<{ us: number; bytes: number }> => {
    const times: number[] = [];
    const bytes: number[] = [];
    for (let round = 0; round <= rounds; round += 1) {
      // A run that has ended is in memory until others end.
      for (let short = 0; short < 2; short += 1) await (await hub.startWorkflow(workflow, 1)).result();
      collectGarbage();
      const heapBefore = process.memoryUsage().heapUsed;
      const startedAt = performance.now();
      await (await hub.startWorkflow(workflow, length)).result();
      if (round === 0) continue;
      times.push(end.at - startedAt);
      bytes.push(end.heap - heapBefore);
    }
    return { us: (median(times) / length) * 1_000, bytes: median(bytes) / length };
  };
  const few = await costOf(elements / 10);
  const many = await costOf(elements);
  await hub.stop();
  const scenario = `step.map over ${elements.toLocaleString('en')} elements`;
  const name = `over ${(elements / 10).toLocaleString('en')}`;
  const target = { of: 'ratio', limit: 'at most', value: 2 } as const;
  return [
    { scenario, unit: 'us an element', hubline: many.us, peer: { name, figure: few.us }, target },
    {
      scenario: `${scenario}, heap at its end`,
      unit: 'bytes an element',
      hubline: many.bytes,
      peer: { name, figure: few.bytes },
      target,
    },
  ];
}

async function suspension(): Promise<Row[]> {
  const collectGarbage = requireGarbageCollector();
  const hub = createHub();
  const confirmed = hub.event<{ id: string }>({ type: 'confirmed', key: ({ id }) => id });
  const ended = countdown();
  const workflow = hub.workflow(
    createWorkflow({
      name: 'confirm',
      run: async ({ input, step }: RunCtx<{ id: string }>) => {
        await step.run('ask', () => input.id);
        await step.waitForEvent('confirmed', confirmed, { key: input.id, timeoutMs: 86_400_000 });
        ended.count();
      },
    }),
  );
  await hub.start();
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  let started = 0;
  const suspend = async (count: number): Promise<void> => {
    for (; started < count; started += 1) await hub.startWorkflow(workflow, { id: `order ${started}` });
    await untilSuspended(hub, count);
  };
  /** Resumes runs one after the other. Returns the median of their microseconds. */
  const resume = async (from: number): Promise<number> => {
    const times: number[] = [];
    for (let n = from; n < from + resumed; n += 1) {
      const startedAt = performance.now();
      const done = ended.of(1);
      await hub.emit(confirmed, { id: `order ${n}` });
      await done;
      times.push((performance.now() - startedAt) * 1_000);
    }
    return median(times);
  };
  await suspend(2 * resumed);
  await resume(0);
  const few = await resume(resumed);
  started = 0;
  await suspend(suspended);
  collectGarbage();
  const bytes = process.memoryUsage().heapUsed - before;
  const many = await resume(suspended - resumed);
  await hub.stop({ drainMs: 0 });
  const shown = suspended.toLocaleString('en');
  return [
    {
      scenario: `heap of ${shown} suspended runs`,
      unit: 'MB',
      hubline: bytes / 2 ** 20,
      target: { of: 'figure', limit: 'at most', value: 200 },
    },
    {
      scenario: `resume one of ${shown} suspended runs`,
      unit: 'us',
      hubline: many,
      peer: { name: `of ${resumed.toLocaleString('en')}`, figure: few },
      target: { of: 'ratio', limit: 'at most', value: 3 },
    },
  ];
}

function requireGarbageCollector(): () => void {
  const { gc } = globalThis;
  if (gc === undefined) throw new Error('run with --expose-gc');
  return gc;
}
