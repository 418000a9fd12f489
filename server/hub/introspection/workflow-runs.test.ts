import { expect, it, test, vi } from 'vitest';
import { FatalError } from '../../errors.js';
import { testHub } from '../hub.fixture.js';
import type { RunIntrospection, StepIntrospection } from '../runs/run-introspection.js';
import type { Step } from '../runs/step.js';
import { createWorkflow } from '../runs/workflow.js';
import { foldedName, type ReachedStep, reachedBy, summarizeSteps } from './workflow-runs.js';

interface Order {
  readonly id: number;
  readonly isLarge?: boolean;
  readonly isBroken?: boolean;
}

test('the runs of a function show its steps by stage, those that wait and those that failed', async () => {
  const { hub, clock } = testHub();
  hub.event({ type: 'paid', key: ({ id }: Order) => String(id) });
  const pack = createWorkflow({ name: 'pack', run: ({ step }) => step.sleep('dry', 500) });
  hub.workflow(pack);
  const fulfil = createWorkflow({
    name: 'fulfil',
    run: async ({ input, step }: { input: Order; step: Step }) => {
      await step.map('pick', [1, 2, 3], () => 1);
      await Promise.all([step.sleep('label', 1_000), step.invoke('pack', pack, {})]);
      if (input.isLarge) await step.run('pallet', () => 1);
      else await step.run('parcel', () => 1);
      await step.run('ship', () => {
        if (input.isBroken) throw new FatalError('no carrier');
      });
      await step.waitForEvent('paid', 'paid', { key: String(input.id) });
    },
  });
  hub.workflow(fulfil);
  await hub.start();
  for (const order of [{ id: 1 }, { id: 2, isLarge: true }, { id: 3, isBroken: true }]) {
    await hub.startWorkflow(fulfil, order);
  }
  await vi.waitFor(async () => expect(await hub.workflowRuns('fulfil')).toMatchObject({ read: { waiting: 3 } }));
  await clock.advance(1_000);
  await vi.waitFor(async () => {
    const { runs } = await hub.workflowRuns('fulfil');
    expect(runs.map(({ steps }) => steps.at(-1)?.name).sort()).toEqual(['paid', 'paid', 'ship']);
  });

  const { runs, waiting, steps, read } = await hub.workflowRuns('fulfil');
  expect(read).toEqual({ newest: 3, failed: 1, waiting: 2 });
  expect(runs.map(({ status }) => status).sort()).toEqual(['failed', 'suspended', 'suspended']);
  expect(waiting.map((run) => run.steps.map(({ name }) => name))).toEqual([['paid'], ['paid']]);
  expect(waiting.map(({ at }) => at)).toEqual([['paid'], ['paid']]);
  expect(runs.find(({ status }) => status === 'failed')?.at).toEqual(['ship']);
  expect(byStage(steps).map((stage) => stage.sort())).toEqual([
    ['pick'],
    ['label', 'pack'],
    ['pallet', 'parcel'],
    ['ship'],
    ['paid'],
  ]);
  const stepOf = (name: string) => steps.find((step) => step.name === name);
  expect(stepOf('pick')).toMatchObject({ kind: 'run', reached: 3, times: 3, waiting: 0, failed: 0, failureRatio: 0 });
  expect(stepOf('label')).toMatchObject({ kind: 'sleep', medianMs: 1_000 });
  expect(stepOf('pallet')).toMatchObject({ reached: 1 });
  expect(stepOf('ship')).toMatchObject({ reached: 3, failed: 1, failureRatio: 1 / 3 });
  expect(stepOf('paid')).toMatchObject({ kind: 'event', reached: 2, waiting: 2 });
  expect(await hub.workflowRuns('unknown')).toMatchObject({ runs: [], waiting: [], steps: [] });
  await hub.stop();
});

/** Returns a run whose steps have a start and an end in milliseconds; one without an end waits. */
function runOf(...steps: readonly (readonly [name: string, from: number, to?: number])[]): RunIntrospection {
  const toStep = ([name, startedAt, endedAt]: readonly [string, number, number?]): StepIntrospection => ({
    name,
    kind: 'run',
    status: endedAt === undefined ? 'waiting' : 'completed',
    startedAt,
    ...(endedAt === undefined ? { waitsFor: { since: startedAt } } : { endedAt }),
  });
  return {
    id: 'r',
    service: 's',
    requestId: 'r',
    status: 'active',
    attempt: 1,
    acceptedAt: 0,
    steps: steps.map(toStep),
  };
}

function byStage(steps: readonly ReachedStep[]): string[][] {
  const stages: string[][] = [];
  for (const { name, stage } of steps) stages[stage] = [...(stages[stage] ?? []), name];
  return stages;
}

it.each<[string, readonly RunIntrospection[], string[][]]>([
  ['a sequence', [runOf(['a', 0, 1], ['b', 1, 2], ['c', 2, 3])], [['a'], ['b'], ['c']]],
  ['a sequence within a millisecond', [runOf(['a', 1, 1], ['b', 1, 1])], [['a'], ['b']]],
  ['a sequence of parts of a millisecond', [runOf(['a', 1, 1.3], ['b', 1, 1.6], ['c', 1, 1.1])], [['a'], ['b'], ['c']]],
  ['parallel steps', [runOf(['a', 0, 1], ['b', 1, 4], ['c', 1, 3], ['d', 4, 5])], [['a'], ['b', 'c'], ['d']]],
  [
    'parallel steps that overlap in one run only',
    [runOf(['b', 0, 20], ['c', 30, 40]), runOf(['b', 0, 20], ['c', 10, 30])],
    [['b', 'c']],
  ],
  [
    'steps that finish in both orders',
    [runOf(['a', 0, 1], ['b', 1, 2]), runOf(['b', 0, 1], ['a', 1, 2])],
    [['a', 'b']],
  ],
  [
    'branches',
    [runOf(['a', 0, 1], ['yes', 1, 2], ['z', 2, 3]), runOf(['a', 0, 1], ['no', 1, 2], ['z', 2, 3])],
    [['a'], ['yes', 'no'], ['z']],
  ],
  [
    'a step that one branch skips',
    [runOf(['a', 0, 1], ['z', 1, 2]), runOf(['a', 0, 1], ['b', 1, 2], ['z', 2, 3])],
    [['a'], ['b'], ['z']],
  ],
  ['a step behind one that waits', [runOf(['a', 0], ['b', 1, 2])], [['a', 'b']]],
  ['elements and repetitions', [runOf(['m[0]', 0, 2], ['m[1]', 1, 3], ['n', 3, 4], ['n#2', 4, 5])], [['m'], ['n']]],
  [
    'an order that is a circle over three runs',
    [runOf(['a', 0, 1], ['b', 1, 2]), runOf(['b', 0, 1], ['c', 1, 2]), runOf(['c', 0, 1], ['a', 1, 2])],
    [['b'], ['c'], ['a']],
  ],
])('orders %s by stage', (_name, runs, stages) => {
  expect(byStage(summarizeSteps({ newest: runs, failed: [], waiting: [] }))).toEqual(stages);
});

test('a step that only waiting runs reached stands where one of them that is read whole has it', () => {
  const newest = [runOf(['a', 0, 1], ['b', 1, 2], ['c', 2, 3])];
  const sample = { newest, failed: [], waiting: [runOf(['rest', 2])] };
  expect(byStage(summarizeSteps(sample))).toEqual([['a', 'rest'], ['b'], ['c']]);
  const histories = [runOf(['a', 0, 1], ['b', 1, 2], ['rest', 2])];
  const steps = summarizeSteps({ ...sample, histories });
  expect(byStage(steps)).toEqual([['a'], ['b'], ['c', 'rest']]);
  expect(steps.find(({ name }) => name === 'b')).toMatchObject({ reached: 1 });
  expect(steps.find(({ name }) => name === 'rest')).toMatchObject({ reached: 0, waiting: 1 });
});

test('a function that names 10,000 steps shows the 100 that most runs reached', () => {
  const steps = Array.from({ length: 10_000 }, (_, index) => [`step ${index}`, index, index + 1] as const);
  const common = ['last', 20_000, 20_001] as const;
  const shown = summarizeSteps({ newest: [runOf(...steps, common), runOf(common)], failed: [], waiting: [] });
  expect(shown).toHaveLength(100);
  expect(shown.at(-1)).toMatchObject({ name: 'last', reached: 2 });
});

it.each([
  ['pick', 'pick'],
  ['pick#2', 'pick'],
  ['pick[3]', 'pick'],
  ['pick#2[3]#4', 'pick'],
  ['triage / turn 3 / find', 'triage'],
  ['[1]', '[1]'],
])('%s is a part of %s', (name, folded) => {
  expect(foldedName(name)).toBe(folded);
});

test('a step of which a run has more than was read has no duration', () => {
  const element = (n: number): StepIntrospection => ({
    name: `shard[${n}]`,
    kind: 'run',
    status: 'completed',
    startedAt: n,
    endedAt: n + 10,
    durationMs: 10,
  });
  const swap = { ...element(400), name: 'swap' };
  const runOf = (steps: readonly StepIntrospection[]): RunIntrospection => ({
    id: 'a',
    service: 'shop',
    requestId: 'a',
    status: 'completed',
    attempt: 1,
    acceptedAt: 0,
    endedAt: 410,
    steps,
  });
  const elements = (count: number): StepIntrospection[] => Array.from({ length: count }, (_, n) => element(300 + n));
  const durations = (run: RunIntrospection) => reachedBy([run]).map(({ name, medianMs }) => [name, medianMs]);
  expect(durations(runOf([...elements(99), swap]))).toEqual([
    ['shard', undefined],
    ['swap', 10],
  ]);
  const loop = Array.from({ length: 50 }, (_, n) => [
    { ...element(2 * n), name: `poll#${n}` },
    { ...element(2 * n + 1), name: `check#${n}` },
  ]).flat();
  expect(durations(runOf(loop))).toEqual([
    ['poll', undefined],
    ['check', undefined],
  ]);
  expect(durations(runOf([...elements(9), swap]))).toEqual([
    ['shard', 18],
    ['swap', 10],
  ]);
});
