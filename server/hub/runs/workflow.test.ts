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
