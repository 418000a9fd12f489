import { describe, expect, test } from 'vitest';
import { createAgent } from '../agents/create-agent.js';
import { testHub } from '../hub/hub.fixture.js';
import { type ExportedRun, exportRun } from '../hub/runs/exported-run.js';
import type { RunCtx } from '../hub/runs/step.js';
import { type AnyWorkflow, createWorkflow } from '../hub/runs/workflow.js';
import { workflowType } from '../transports/delivery.js';
import { checkRuns } from './check-runs.js';
import { scriptedProvider } from './scripted-provider.js';

type Run = (ctx: RunCtx) => unknown;

const flow = (run: Run, version = 1): AnyWorkflow => createWorkflow({ name: 'flow', version, run });

/** Runs a workflow until it waits or ends, and returns what an export has of the run. */
async function recorded(workflow: AnyWorkflow, payloads = true, advanceMs = 0): Promise<readonly ExportedRun[]> {
  const { hub, clock } = testHub();
  hub.event({ type: 'go' });
  hub.workflow(createWorkflow({ name: 'child', run: ({ step }) => step.waitForEvent('go', 'go') }));
  hub.workflow(workflow);
  await hub.start();
  const { runId } = await hub.startWorkflow('flow', { n: 1 });
  await clock.advance(advanceMs);
  const record = await hub.transport.runs.get(workflowType('flow'), runId);
  return record === undefined ? [] : [exportRun(record, payloads)];
}

const execute = (): never => expect.fail('a step was executed');

/** The code with which the run started: it waits for an event, after two steps at once and a patch. */
const first: Run = async ({ step, input }) => {
  const [n] = await Promise.all([step.run('pick', () => 2), step.emit('tell', 'go', input)]);
  step.patched('counted');
  if (n === 2) await step.map('pack', [1, 2], (item) => item);
  await step.run('late', () => Promise.reject(new Error('no'))).catch(() => {});
  await step.waitForEvent('go', 'go');
  return 'done';
};

/** The same path, with steps that must not be executed. */
const same: Run = async ({ step, input }) => {
  const [n] = await Promise.all([step.run('pick', execute), step.emit('tell', 'go', input)]);
  step.patched('counted');
  if (n === 2) await step.map('pack', [1, 2], execute);
  await step.run('late', execute).catch(() => {});
  await step.waitForEvent('go', 'go');
  return step.run('more', execute);
};

const differences: readonly (readonly [name: string, run: Run, expected: object])[] = [
  [
    'asks for a step of another name',
    ({ step }) => step.run('choose', execute),
    {
      reason: 'changed',
      position: 1,
      recorded: { kind: 'run', id: 'pick' },
      requested: [{ kind: 'run', id: 'choose' }],
    },
  ],
  [
    'asks for a step of another kind',
    ({ step }) => step.sleep('pick', 1),
    {
      reason: 'changed',
      position: 1,
      recorded: { kind: 'run', id: 'pick' },
      requested: [{ kind: 'sleep', id: 'pick' }],
    },
  ],
  [
    'inserts a step',
    async (ctx) => {
      await Promise.all([ctx.step.run('pick', execute), ctx.step.emit('tell', 'go', null)]);
      await ctx.step.run('weigh', execute);
    },
    {
      reason: 'changed',
      position: 3,
      recorded: { kind: 'run', id: 'pack[0]' },
      requested: [{ kind: 'run', id: 'weigh' }],
    },
  ],
  [
    'returns before a recorded step',
    ({ step }) => Promise.all([step.run('pick', execute), step.emit('tell', 'go', null)]),
    { reason: 'unreached', position: 3, recorded: { kind: 'run', id: 'pack[0]' }, requested: [] },
  ],
  [
    'throws',
    ({ step }) =>
      step.run('pick', execute).then(() => {
        throw new TypeError('no such field');
      }),
    {
      reason: 'failed',
      position: 2,
      recorded: { kind: 'emit', id: 'tell' },
      message: expect.stringContaining('TypeError: no such field'),
    },
  ],
  [
    'awaits something that is no step',
    async ({ step }) => {
      await step.run('pick', execute);
      await new Promise(() => {});
    },
    { reason: 'stalled', position: 2, recorded: { kind: 'emit', id: 'tell' }, requested: [] },
  ],
  [
    'waits for something else than the run',
    async ({ step, input }) => {
      await Promise.all([step.run('pick', execute), step.emit('tell', 'go', input)]);
      await step.map('pack', [1, 2], execute);
      await step.run('late', execute).catch(() => {});
      await step.sleep('a day', 1);
    },
    {
      reason: 'changed',
      position: 6,
      recorded: { kind: 'event', id: 'go' },
      requested: [{ kind: 'sleep', id: 'a day' }],
    },
  ],
];

describe('checkRuns', () => {
  test('finds no difference if the code takes the same path, and executes nothing', async () => {
    const records = await recorded(flow(first));
    expect(await checkRuns(flow(same), records)).toEqual({ checked: 1, differences: [] });
  });

  test.each(differences)('finds the first difference if the code %s', async (_, run, expected) => {
    const records = await recorded(flow(first));
    const result = await checkRuns(flow(run), records, { timeoutMs: 50 });
    expect(result).toMatchObject({ checked: 1, differences: [{ runId: records[0]?.runId, ...expected }] });
  });

  test.each<readonly [string, Run]>([
    ['sleeps', ({ step }) => step.sleep('a while', 1_000)],
    ['waits for a child', ({ step }) => step.invoke('child', 'child', null)],
    [
      'waits for a retry',
      ({ step }) =>
        step.run('try', () => Promise.reject(new Error('no')), { retry: { maxAttempts: 9, jitter: false } }),
    ],
    [
      'has the loser of a race',
      async ({ step }) => {
        await Promise.race([step.sleep('long', 9_999), step.sleep('short', 1)]);
        await step.waitForEvent('go', 'go');
      },
    ],
  ])('finds no difference in a run that %s', async (_, run) => {
    const records = await recorded(flow(run), true, 5);
    expect(await checkRuns(flow(run), records)).toEqual({ checked: 1, differences: [] });
  });

  test('replays the turns of agents', async () => {
    const agent = (script: string[]) =>
      createAgent({ name: 'a', systemPrompt: '', provider: scriptedProvider(script), model: { model: 'm' } });
    const ask =
      (script: string[]): Run =>
      async (ctx) => {
        const { output } = await agent(script).run('go', { hubCtx: ctx });
        await ctx.step.waitForEvent(output, 'go');
      };
    const records = await recorded(flow(ask(['go'])));
    expect(await checkRuns(flow(ask([])), records)).toEqual({ checked: 1, differences: [] });
  });

  test('finds that a higher version advanced the run', async () => {
    const records = await recorded(flow(first, 2));
    const [difference] = (await checkRuns(flow(same), records)).differences;
    expect(difference).toMatchObject({ reason: 'version', message: expect.stringContaining('a higher version') });
  });

  const list = (...names: string[]): AnyWorkflow =>
    createWorkflow({
      name: 'flow',
      steps: names.map((name) => ({
        name,
        retry: { maxAttempts: 9, jitter: false },
        handler: () => (name === 'wait' ? Promise.reject(new Error('not yet')) : name),
      })),
    });

  test.each([true, false])('compares the steps of a list; with payloads: %s', async (payloads) => {
    const records = await recorded(list('a', 'b', 'wait'), payloads);
    expect(JSON.stringify(records).includes('not yet')).toBe(payloads);
    expect(await checkRuns(list('a', 'b', 'wait', 'c'), records)).toEqual({ checked: 1, differences: [] });
    const expected = { reason: 'changed', position: 2, recorded: { kind: 'run', id: 'b' } };
    expect(await checkRuns(list('a', 'c', 'b', 'wait'), records)).toMatchObject({ differences: [expected] });
  });

  test('counts the records of the workflow, and leaves out others', async () => {
    const records = await recorded(flow(first));
    const other = createWorkflow({ name: 'other', run: () => null });
    expect(await checkRuns(other, records)).toEqual({ checked: 0, differences: [] });
  });

  test('refuses records without payloads for a function, and what is no record', async () => {
    const records = await recorded(flow(first), false);
    await expect(checkRuns(flow(first), records)).rejects.toThrow('an export with --payload');
    // Wrong on purpose: what JSON.parse returns has any type.
    for (const wrong of [{}, [null], [{ workflow: 'flow' }]]) {
      await expect(checkRuns(flow(first), wrong as never)).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' });
    }
  });
});
