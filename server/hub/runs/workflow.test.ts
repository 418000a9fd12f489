import { describe, expect, it } from 'vitest';
import { DuplicateNameError, InvalidOptionError } from '../../errors.js';
import { EventCycleError, HubStartedError, UnknownEventError } from '../errors.js';
import { testHub } from '../hub.fixture.js';
import type { StepCtx } from './step.js';
import { createWorkflow, type WorkflowStep } from './workflow.js';

const pass = ({ payload }: StepCtx): unknown => payload;

function steps(...list: (WorkflowStep | string)[]): WorkflowStep[] {
  return list.map((step) => (typeof step === 'string' ? { name: step, handler: pass } : step));
}

describe('createWorkflow', () => {
  it.each([
    [undefined, 'name of a workflow must be'],
    [{ name: '', steps: steps('a') }, 'name of a workflow'],
    [{ name: 'w', steps: [] }, 'steps of workflow "w" must be an array of one or more steps, got an empty array'],
    [{ name: 'w', steps: [{ name: 'a' }] }, 'handler of step "a" of workflow "w" must be set'],
    [{ name: 'w', steps: [null] }, 'name of a step of workflow "w"'],
    [{ name: 'w', steps: steps({ name: 'a', handler: pass, timeoutMs: 0 }) }, 'timeoutMs of step "a"'],
    [
      { name: 'w', steps: steps({ name: 'a', handler: pass, retry: { maxAttempts: 0 } }) },
      'retry.maxAttempts of step "a"',
    ],
    [{ name: 'w', steps: steps('a'), trigger: 5 }, 'trigger of workflow "w"'],
    [{ name: 'w', steps: steps('a'), onSuccess: '' }, 'onSuccess of workflow "w"'],
    [{ name: 'w', steps: steps('a'), description: 5 }, 'description of workflow "w"'],
    [{ name: 'w', steps: steps('a'), key: 'id' }, 'key of workflow "w" must be a function'],
    [{ name: 'w', steps: steps('a'), concurrencyPerKey: 1 }, 'key of workflow "w" must be set if concurrencyPerKey is'],
    [{ name: 'w', steps: steps('a'), key: String, concurrencyPerKey: 0 }, 'concurrencyPerKey of workflow "w" must be'],
    [{ name: 'w', steps: steps('a'), key: String, trigger: 'e' }, 'key of workflow "w" must be omitted if there is a'],
  ])('%j throws at once', (config, message) => {
    expect(() => createWorkflow(config as never)).toThrow(InvalidOptionError);
    expect(() => createWorkflow(config as never)).toThrow(message);
  });

  it('registers each name once, and none after start', async () => {
    const { hub } = testHub();
    expect(() => createWorkflow({ name: 'w', steps: steps('a', 'a') })).toThrow(DuplicateNameError);
    const workflow = createWorkflow({ name: 'w', steps: steps('a') });
    hub.workflow(workflow);
    expect(() => hub.workflow(workflow)).toThrow(DuplicateNameError);
    expect(() => hub.workflow({} as never)).toThrow(InvalidOptionError);
    await hub.start();
    expect(() => hub.workflow(createWorkflow({ name: 'v', steps: steps('a') }))).toThrow(HubStartedError);
  });

  it('requires its events to be registered before start', async () => {
    const { hub } = testHub();
    hub.workflow(createWorkflow({ name: 'w', trigger: 'order.paid', steps: steps('a') }));
    await expect(hub.start()).rejects.toThrow(UnknownEventError);
    await expect(hub.start()).rejects.toThrow('the trigger of workflow "w"');
  });

  it('with a limit per key requires a key of its trigger', async () => {
    const { hub } = testHub();
    hub.event({ type: 'a' });
    hub.workflow(createWorkflow({ name: 'w', trigger: 'a', concurrencyPerKey: 1, steps: steps('s') }));
    await expect(hub.start()).rejects.toThrow('key of event "a" must be set, because workflow "w" has concurrencyPer');
  });

  it('refuses an input without a key', async () => {
    const { hub } = testHub();
    const key = (input: unknown): string => String(Object(input).id ?? '');
    const workflow = createWorkflow({ name: 'w', key, steps: steps('s') });
    hub.workflow(workflow);
    await hub.start();
    await expect(hub.startWorkflow(workflow, {})).rejects.toMatchObject({ code: 'ERR_INVALID_KEY' });
    expect((await hub.introspect()).workflows).toMatchObject([{ metrics: { received: 0 } }]);
  });

  it('must not cause its own trigger', async () => {
    const { hub } = testHub();
    hub.event({ type: 'a', handler: () => {}, onComplete: 'b' });
    hub.event({ type: 'b' });
    hub.workflow(createWorkflow({ name: 'w', trigger: 'b', onSuccess: 'a', steps: steps('s') }));
    const error: unknown = await hub.start().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(EventCycleError);
    expect(error).toMatchObject({ cycle: ['a', 'b', 'workflow w', 'a'] });
  });
});
