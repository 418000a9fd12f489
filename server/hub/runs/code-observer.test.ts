import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { createAgent } from '../../agents/create-agent.js';
import { scriptedProvider } from '../../testing/scripted-provider.js';
import { testHub } from '../hub.fixture.js';
import type { RunCtx } from './step.js';
import { createWorkflow } from './workflow.js';

afterEach(() => void vi.unstubAllEnvs());

/** I/O that takes longer than a turn of the event loop, however long the machine stalls. */
const io = (): Promise<void> => turn().then(() => turn());

/** Runs a workflow until it ends, and returns the warnings. */
async function warningsOf(run: (ctx: RunCtx) => unknown, runs = 1): Promise<readonly object[]> {
  const { hub, clock, log } = testHub();
  hub.event({ type: 'go' });
  hub.workflow(createWorkflow({ name: 'w', run }));
  await hub.start();
  for (let index = 0; index < runs; index += 1) {
    const handle = await hub.startWorkflow('w', null);
    const ended = handle.result();
    let isOver = false;
    const end = (): void => {
      isOver = true;
    };
    ended.then(end, end);
    // Steps wait for real I/O, and the clock of the hub for the test.
    while (!isOver) {
      await clock.advance(10);
      await turn();
    }
    await ended;
  }
  return log.filter(({ level }) => level === 'warn').map(({ fields, message }) => ({ ...fields, message }));
}

const here = expect.stringContaining('code-observer.test.ts:');
const lost = (step: string) => [
  { workflow: 'w', step, at: here, message: expect.stringContaining('without awaiting') },
];
const gap = (step?: string) => [
  { workflow: 'w', ...(step && { step, at: here }), message: expect.stringContaining('something that is no step') },
];

const faulty: readonly (readonly [string, (ctx: RunCtx) => unknown, readonly object[]])[] = [
  ['returns without awaiting its only step', ({ step }) => void step.run('mail', () => 1), lost('mail')],
  [
    'returns without awaiting its last step',
    async ({ step }) => {
      await step.run('pick', () => 1);
      void step.emit('tell', 'go', null);
    },
    lost('tell'),
  ],
  ['awaits I/O before its first step', ({ step }) => io().then(() => step.run('pick', () => 1)), gap()],
  [
    'awaits I/O between steps',
    async ({ step }) => {
      await step.run('pick', () => 1);
      await io();
      await step.run('pack', () => 1);
    },
    gap('pick'),
  ],
];

test.each(faulty)('warns of a function that %s, with the line of the step', async (_, run, expected) => {
  expect(await warningsOf(run)).toMatchObject(expected);
});

const agent = createAgent({
  name: 'a',
  systemPrompt: '',
  provider: scriptedProvider([{ content: 'ok', delayMs: 5 }]),
  model: { model: 'm' },
});

const sound: readonly (readonly [string, (ctx: RunCtx) => unknown])[] = [
  [
    'awaits each step',
    async ({ step }) => {
      await step.run('a', () => io());
      await step.sleep('b', 1);
    },
  ],
  ['returns a step', ({ step }) => step.run('a', () => turn())],
  [
    'awaits promises that settle at once',
    async ({ step }) => {
      for (let index = 0; index < 100; index += 1) await null;
      await new Promise<void>((resolve) => process.nextTick(resolve));
      return step.run('a', () => 1);
    },
  ],
  ['races steps', ({ step }) => Promise.race([step.sleep('long', 99_999), step.run('a', () => 1)])],
  [
    'races functions with steps',
    ({ step }) => {
      const slow = async (): Promise<void> => {
        await step.run('a', () => 1);
        await step.sleep('long', 99_999);
      };
      const fast = async (): Promise<void> => {
        await step.sleep('b', 1);
        await step.run('c', () => 1);
      };
      return Promise.race([slow(), fast()]);
    },
  ],
  ['maps no elements', ({ step }) => step.map('a', [], () => 1)],
  [
    'begins a wait and awaits it later',
    async ({ step }) => {
      const reply = step.waitForEvent('reply', 'go', { timeoutMs: 50 });
      await step.run('ask', () => 1);
      return reply;
    },
  ],
  ['catches the refusal of a step', ({ step }) => step.sleep('a', -1).catch(() => 1)],
  ['runs an agent', (ctx) => agent.run('x', { hubCtx: ctx }).then(({ output }) => output)],
];

test.each(sound)('does not warn of a function that %s', async (_, run) => {
  expect((await warningsOf(run)).filter((line) => !JSON.stringify(line).includes('refused'))).toEqual([]);
});

test('warns in the first runs of a workflow only, and not in production', async () => {
  const run = ({ step }: RunCtx): void => void step.run('mail', () => 1);
  expect(await warningsOf(run, 25)).toHaveLength(20);
  vi.stubEnv('NODE_ENV', 'production');
  expect(await warningsOf(run)).toEqual([]);
});
