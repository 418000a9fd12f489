import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { deferred, testHub } from '../hub.fixture.js';
import type { Step } from './step.js';
import { createWorkflow } from './workflow.js';

/** Makes an unhandled rejection fail the test that causes it, with a list of the reasons. */
function unhandledRejections(): unknown[] {
  const reasons: unknown[] = [];
  const listeners = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection');
  process.on('unhandledRejection', (reason) => reasons.push(reason));
  onTestFinished(() => {
    process.removeAllListeners('unhandledRejection');
    for (const listener of listeners) process.on('unhandledRejection', listener);
  });
  return reasons;
}

const fail = (): never => {
  throw new Error('no');
};
/** A value that the types refuse. */
const wrong = <T>(value: unknown): T => value as T;

const failing: readonly (readonly [string, (step: Step) => Promise<unknown>, string])[] = [
  ['run', (step) => step.run('a', fail), 'StepFailedError'],
  ['run with a wrong option', (step) => step.run('a', fail, { timeoutMs: -1 }), 'InvalidOptionError'],
  ['run whose result is not JSON', (step) => step.run('a', () => 1n), 'StepFailedError'],
  ['map', (step) => step.map('a', [1, 2], fail), 'StepFailedError'],
  ['map over no array', (step) => step.map('a', wrong<number[]>(1), fail), 'InvalidOptionError'],
  ['emit of an unknown type', (step) => step.emit('a', 'unknown', 1), 'StepFailedError'],
  ['emit without a name', (step) => step.emit(wrong(undefined), 'text', 'a'), 'InvalidOptionError'],
  ['sleep', (step) => step.sleep('a', -1), 'InvalidOptionError'],
  ['sleepUntil an invalid date', (step) => step.sleepUntil('a', new Date(Number.NaN)), 'InvalidOptionError'],
  ['sleepUntil a time too far ahead', (step) => step.sleepUntil('a', 1e15), 'StepFailedError'],
  ['waitForEvent with a wrong key', (step) => step.waitForEvent('a', 'text', { key: '' }), 'InvalidOptionError'],
  ['waitForEvent of an unknown type', (step) => step.waitForEvent('a', 'unknown'), 'UnknownEventError'],
  ['invoke of a child that fails', (step) => step.invoke('a', 'child', 'a'), 'StepFailedError'],
  ['invoke with a wrong input', (step) => step.invoke('a', 'child', 1), 'StepFailedError'],
  ['invoke of an unknown workflow', (step) => step.invoke('a', 'unknown', 1), 'UnknownWorkflowError'],
];

it.each(failing)('a step that fails before it is awaited ends no process: %s', async (_, ask, name) => {
  const { hub, clock } = testHub();
  const rejected = unhandledRejections();
  hub.event({ type: 'text', schema: z.string() });
  hub.workflow(createWorkflow({ name: 'child', input: z.string(), run: fail }));
  const run = async ({ step }: { step: Step }): Promise<string> => {
    const asked = ask(step);
    await step.sleep('later', 1_000);
    await step.run('work', () => true);
    return asked.then(
      () => 'completed',
      (error: Error) => error.name,
    );
  };
  hub.workflow(createWorkflow({ name: 'w', run }));
  await hub.start();
  const handle = await hub.startWorkflow('w', null);
  await clock.advance(2_000);
  expect(await handle.result()).toBe(name);
  expect(rejected).toEqual([]);
});

it.each(failing)(
  'a step that is never awaited ends no process, and leaves a line in the log: %s',
  async (_, ask, name) => {
    const { hub, clock, log } = testHub();
    const rejected = unhandledRejections();
    hub.event({ type: 'text', schema: z.string() });
    hub.workflow(createWorkflow({ name: 'child', input: z.string(), run: fail }));
    const run = async ({ step }: { step: Step }): Promise<void> => {
      void ask(step);
      await step.sleep('later', 1_000);
    };
    hub.workflow(createWorkflow({ name: 'w', run }));
    await hub.start();
    await hub.startWorkflow('w', null);
    await clock.advance(2_000);
    expect((await hub.introspect()).workflows[1]?.metrics).toMatchObject({ completed: 1 });
    expect(rejected).toEqual([]);
    expect(log.filter(({ level }) => level === 'warn' || level === 'error')).not.toEqual([]);
    if (name !== 'StepFailedError') {
      expect(log).toContainEqual(
        expect.objectContaining({ level: 'warn', message: 'run completed although a step was refused' }),
      );
    }
  },
);

it('a step that fails while the function awaits something else ends no process', async () => {
  const { hub, clock } = testHub();
  const rejected = unhandledRejections();
  const other = deferred();
  const run = async ({ step }: { step: Step }): Promise<string> => {
    const asked = step.run('a', fail);
    await step.run('b', () => other.promise);
    return asked.catch((error: Error) => error.name);
  };
  hub.workflow(createWorkflow({ name: 'w', run }));
  await hub.start();
  const handle = await hub.startWorkflow('w', null);
  await clock.advance(100);
  other.resolve();
  await clock.settle();
  expect(await handle.result()).toBe('StepFailedError');
  expect(rejected).toEqual([]);
});
