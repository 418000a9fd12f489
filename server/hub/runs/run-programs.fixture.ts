import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect } from 'vitest';
import { workflowType } from '../../transports/delivery.js';
import type { Transport } from '../../transports/transport.js';
import { createHub } from '../create-hub.js';
import type { Hub } from '../hub.js';
import type { HubOptions } from '../hub-options.js';
import type { RunCtx, Step } from './step.js';
import { createWorkflow } from './workflow.js';
import type { WorkflowHandle } from './workflow-handle.js';

/** Statement of a random program. `fails`: attempts that fail before one succeeds. */
type Statement =
  | { readonly do: 'run'; readonly fails: number; readonly hangs: boolean }
  | { readonly do: 'sleep'; readonly ms: number }
  | { readonly do: 'emit' }
  | { readonly do: 'wait'; readonly key: string; readonly timeoutMs: number }
  | { readonly do: 'invoke'; readonly program: Program }
  | { readonly do: 'map'; readonly count: number }
  | { readonly do: 'all'; readonly branches: readonly Program[] }
  | { readonly do: 'race'; readonly branches: readonly Program[] };
type Program = readonly Statement[];

/** Disturbance of running programs; `run` is the index of a run. */
type Disturbance =
  | { readonly do: 'advance'; readonly ms: number }
  | { readonly do: 'crash' }
  | { readonly do: 'signal'; readonly key: string }
  | { readonly do: 'cancel'; readonly run: number };

const keys = ['k1', 'k2'];
const maxAttempts = 3;

/** Observations of the steps themselves, over all processes. */
export class Journal {
  /** Successful executions by run and step: a step may run again if its process died before it was recorded. */
  readonly results = new Map<string, Set<string>>();
  readonly emitted: string[] = [];
  /** Run of each call of the function, in the order of the calls. */
  readonly calls: string[] = [];
  /** Results that the function of each run saw, in the order of release: one list per call of the function. */
  readonly traces = new Map<string, string[][]>();
  readonly #cancellations = new Map<string, AbortController>();

  /** Cancels a run, whose steps that hang return: until then it keeps the slot of its key. Returns false if it has ended. */
  async cancel(run: WorkflowHandle): Promise<boolean> {
    const isCancelled = await run.cancel();
    if (isCancelled) this.#cancellationOf(run.runId).abort();
    return isCancelled;
  }

  /** Returns at the cancellation of a run, and never otherwise. */
  async hang(runId: string): Promise<never> {
    const { signal: cancelled } = this.#cancellationOf(runId);
    if (!cancelled.aborted) await new Promise((resolve) => cancelled.addEventListener('abort', resolve));
    throw cancelled.reason;
  }

  #cancellationOf(runId: string): AbortController {
    const cancellation = this.#cancellations.get(runId) ?? new AbortController();
    this.#cancellations.set(runId, cancellation);
    return cancellation;
  }
}

/** Runs the statements of a program. Every result is part of the trace, so that two calls can be compared. */
async function perform(program: Program, ctx: RunCtx<Program>, journal: Journal, trace: string[]): Promise<unknown[]> {
  const results: unknown[] = [];
  for (const statement of program) {
    const result = await performOne(statement, ctx, journal, trace);
    // Not awaited: a branch of a race may be abandoned.
    void ctx.step.publish(trace.length);
    trace.push(`${statement.do} ${JSON.stringify(result)}`);
    results.push(result);
  }
  return results;
}

function performOne(statement: Statement, ctx: RunCtx<Program>, journal: Journal, trace: string[]): Promise<unknown> {
  const { step, runId } = ctx;
  switch (statement.do) {
    case 'run':
      return runStep(statement, step, runId, journal);
    case 'sleep':
      return step.sleep('sleep', statement.ms).then(() => null);
    case 'emit':
      return step.emit('emit', 'emitted', { runId }).then(() => 'emitted');
    case 'wait':
      return step.waitForEvent('wait', 'signal', { key: statement.key, timeoutMs: statement.timeoutMs });
    case 'invoke':
      return step.invoke('invoke', 'child', statement.program).catch((error: Error) => error.name);
    case 'map':
      return step.map('map', Array.from({ length: statement.count }), (_, { step: id }) => id, { concurrency: 2 });
    case 'all':
      return Promise.all(statement.branches.map((branch) => perform(branch, ctx, journal, trace)));
    case 'race':
      return Promise.race(statement.branches.map((branch) => perform(branch, ctx, journal, trace)));
  }
}

function runStep(
  { fails, hangs }: Extract<Statement, { do: 'run' }>,
  step: Step,
  runId: string,
  journal: Journal,
): Promise<unknown> {
  const retry = { maxAttempts, initialDelayMs: 20, jitter: false };
  return step
    .run(
      'run',
      ({ attempt, idempotencyKey, step: id }) => {
        if (attempt <= fails) {
          if (hangs) return journal.hang(runId);
          throw new Error(`attempt ${attempt}`);
        }
        const name = `${runId} ${id}`;
        journal.results.set(name, (journal.results.get(name) ?? new Set()).add(idempotencyKey));
        return id;
      },
      { retry, timeoutMs: 50 },
    )
    .catch((error: Error) => error.name);
}

/** Returns the key of a program's run. About half of the programs have none. */
function keyOfProgram(input: Program): string | undefined {
  const { length } = JSON.stringify(input);
  return length % 2 === 0 ? undefined : String(length % 5);
}

/** Checks that the runs of a key were called in the order of acceptance, each after the end of the one before. */
function expectOrderPerKey(programs: readonly Program[], runIds: readonly string[], calls: readonly string[]): void {
  const lastOfKey = new Map<string, number>();
  for (const runId of calls) {
    const index = runIds.indexOf(runId);
    const key = index === -1 ? undefined : keyOfProgram(programs[index] ?? []);
    if (key === undefined) continue;
    expect(index, `run ${index} after a later one of the key ${key}`).toBeGreaterThanOrEqual(lastOfKey.get(key) ?? 0);
    lastOfKey.set(key, index);
  }
}

/** Creates a hub that performs programs. */
export function createProgramHub(transport: Transport, journal: Journal, options: HubOptions = {}): Hub {
  // Steps that never return keep their slots.
  const hub = createHub({ transport, concurrency: 10_000, ...options });
  hub.event({ type: 'signal' });
  hub.event({ type: 'emitted', handler: ({ eventId }) => void journal.emitted.push(eventId) });
  const run = async (ctx: RunCtx<Program>): Promise<unknown> => {
    journal.calls.push(ctx.runId);
    const trace: string[] = [];
    const traces = journal.traces.get(ctx.runId) ?? [];
    traces.push(trace);
    journal.traces.set(ctx.runId, traces);
    return perform(ctx.input, ctx, journal, trace);
  };
  const retain = { completed: 1_000, failed: 1_000 };
  hub.workflow(createWorkflow({ name: 'child', retain, run }));
  hub.workflow(createWorkflow({ name: 'program', retain, key: keyOfProgram, concurrencyPerKey: 1, run }));
  return hub;
}

/** Publishes an event that has a key, as an event type with a `key` function does. */
export async function signal(hub: Hub, key: string): Promise<void> {
  const id = randomUUID();
  const settings = { depth: 0, delayMs: 0, priority: 0, replays: 0, dedupe: undefined };
  await hub.transport.publish([{ id, type: 'signal', body: JSON.stringify(key), requestId: id, key, ...settings }]);
}

/** Returns what the program yields if nothing is cancelled; `undefined` where time and signals decide. */
function model(program: Program): { readonly steps: number; readonly emits: number; readonly isDecided: boolean } {
  let steps = 0;
  let emits = 0;
  let isDecided = true;
  for (const statement of program) {
    if (statement.do === 'map') steps += statement.count;
    else if (statement.do === 'all' || statement.do === 'race') {
      for (const branch of statement.branches) {
        const inner = model(branch);
        steps += inner.steps;
        emits += inner.emits;
        isDecided &&= inner.isDecided && statement.do === 'all';
      }
    } else {
      steps += 1;
      if (statement.do === 'emit') emits += 1;
      if (statement.do === 'invoke') {
        const child = model(statement.program);
        emits += child.emits;
        isDecided &&= child.isDecided;
      }
    }
  }
  return { steps, emits, isDecided };
}

/** Checks a result against the program: the shape, and every value that neither time nor a signal decides. */
function expectResult(program: Program, result: unknown): void {
  expect(result).toHaveLength(program.length);
  for (const [index, statement] of program.entries()) {
    const value = (result as unknown[])[index];
    if (statement.do === 'run') {
      // A process that dies spends an attempt, but a stopping hub releases the run without one.
      if (statement.fails >= maxAttempts) expect(value).toBe('StepFailedError');
      else expect(value).toMatch(/^run(#\d+)?$/);
    } else if (statement.do === 'emit') expect(value).toBe('emitted');
    else if (statement.do === 'sleep') expect(value).toBeNull();
    else if (statement.do === 'wait') expect([null, statement.key]).toContain(value);
    else if (statement.do === 'map') expect(value).toHaveLength(statement.count);
    else if (statement.do === 'invoke') expectResult(statement.program, value);
    else if (statement.do === 'all') {
      for (const [branch, inner] of statement.branches.entries()) expectResult(inner, (value as unknown[])[branch]);
    }
  }
}

/** Checks that the function of a run has published each of its entries once, in order, whatever became of its processes. */
async function expectOutput(hub: Hub, runId: string): Promise<void> {
  const published: unknown[] = [];
  for await (const event of hub.stream(runId)) if (event.type === 'data') published.push(event.data);
  expect(published).toEqual(published.map((_, index) => index));
}

const leaf: fc.Arbitrary<Statement> = fc.oneof(
  fc.record({ do: fc.constant('run' as const), fails: fc.nat(maxAttempts), hangs: fc.boolean() }),
  fc.record({ do: fc.constant('sleep' as const), ms: fc.nat(100) }),
  fc.record({ do: fc.constant('emit' as const) }),
  fc.record({ do: fc.constant('wait' as const), key: fc.constantFrom(...keys), timeoutMs: fc.nat(300) }),
  fc.record({ do: fc.constant('map' as const), count: fc.nat(4) }),
);
export const { program }: { program: fc.Arbitrary<Program> } = fc.letrec<{ statement: Statement; program: Program }>(
  (tie) => ({
    statement: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf,
      fc.record({ do: fc.constant('invoke' as const), program: tie('program') }),
      fc.record({
        do: fc.constant('all' as const),
        branches: fc.array(tie('program'), { minLength: 1, maxLength: 3 }),
      }),
      fc.record({
        do: fc.constant('race' as const),
        branches: fc.array(tie('program'), { minLength: 1, maxLength: 3 }),
      }),
    ),
    program: fc.array(tie('statement'), { maxLength: 4 }),
  }),
);
/** @param runs number of runs */
export const disturbanceOf = (runs: number): fc.Arbitrary<Disturbance> =>
  fc.oneof(
    fc.record({ do: fc.constant('advance' as const), ms: fc.nat(80) }),
    fc.record({ do: fc.constant('crash' as const) }),
    fc.record({ do: fc.constant('signal' as const), key: fc.constantFrom(...keys) }),
    fc.record({ do: fc.constant('cancel' as const), run: fc.nat(runs - 1) }),
  );

/** Programs that were started, in the order of `runIds`. */
interface StartedPrograms {
  readonly programs: readonly Program[];
  readonly runIds: readonly string[];
  /** Indices of the runs that were cancelled. */
  readonly cancelled: ReadonlySet<number>;
}

/** Checks the records and counts of programs that have ended, and what their steps observed. */
export async function expectEnds(
  hub: Hub,
  journal: Journal,
  { programs, runIds, cancelled }: StartedPrograms,
): Promise<void> {
  const { workflows, events } = await hub.introspect();
  for (const { metrics } of [...workflows, ...events]) {
    const { received, completed, failed, pending, active, suspended } = metrics;
    expect({ pending, active, suspended }).toEqual({ pending: 0, active: 0, suspended: 0 });
    expect(received).toBe(completed + failed);
  }
  let emits = 0;
  let isDecided = true;
  for (const [index, input] of programs.entries()) {
    const run = await hub.getRun('program', runIds[index] ?? '', { outputs: true });
    const expected = model(input);
    isDecided &&= expected.isDecided && !cancelled.has(index);
    emits += expected.emits;
    expect(run.status).toBe(cancelled.has(index) ? 'failed' : 'completed');
    const ids = run.steps.map(({ kind, name }) => `${kind} ${name}`);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeLessThanOrEqual(expected.steps);
    if (cancelled.has(index)) continue;
    await expectOutput(hub, run.id);
    const record = await hub.transport.runs.get(workflowType('program'), run.id);
    if (record?.result !== undefined) expectResult(input, JSON.parse(record.result));
  }
  // Every event is accepted once, and all of them if no branch was abandoned.
  const { received } = await hub.metrics('emitted');
  expect(new Set(journal.emitted).size).toBe(received);
  expect(received).toBeLessThanOrEqual(emits);
  if (isDecided) expect(received).toBe(emits);
  for (const used of journal.results.values()) expect(used.size).toBe(1);
  expectOrderPerKey(programs, runIds, journal.calls);
  // Each call of a function sees what the call before saw, and goes on from there.
  for (const traces of journal.traces.values()) {
    for (const [index, trace] of traces.entries()) {
      const before = traces[index - 1] ?? [];
      expect(trace.slice(0, before.length)).toEqual(before.slice(0, trace.length));
    }
  }
}
