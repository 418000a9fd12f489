import { describe, expect, it } from 'vitest';
import { InvalidOptionError } from '../../errors.js';
import {
  HubNotStartedError,
  HubStoppedError,
  PayloadNotJsonError,
  UnknownRunError,
  UnknownWorkflowError,
} from '../errors.js';
import { testHub } from '../hub.fixture.js';
import type { StepCtx } from './step.js';
import { createWorkflow, type WorkflowStep } from './workflow.js';

const pass = ({ payload }: StepCtx): unknown => payload;

function steps(...list: (WorkflowStep | string)[]): WorkflowStep[] {
  return list.map((step) => (typeof step === 'string' ? { name: step, handler: pass } : step));
}

describe('cancel', () => {
  it('aborts the running step, fails the run and emits its follow-ups', async () => {
    const { hub, clock } = testHub();
    const reasons: unknown[] = [];
    hub.event({ type: 'bad' });
    hub.workflow(
      createWorkflow({
        name: 'w',
        onFailure: 'bad',
        steps: [
          {
            name: 'a',
            handler: ({ signal }) =>
              new Promise(() => signal.addEventListener('abort', () => reasons.push(signal.reason))),
          },
        ],
      }),
    );
    await hub.start();
    const run = await hub.startWorkflow('w', 1);
    await clock.settle();
    expect(await run.cancel()).toBe(true);
    expect(reasons).toMatchObject([{ code: 'ERR_WORKFLOW_CANCELLED' }]);
    await expect(run.result()).rejects.toMatchObject({ failure: { name: 'WorkflowCancelledError' } });
    expect(await run.cancel()).toBe(false);
    expect(await hub.metrics('bad')).toMatchObject({ received: 1 });
    expect((await hub.introspect()).workflows[0]?.metrics).toMatchObject({
      received: 1,
      failed: 1,
      pending: 0,
      active: 0,
    });
  });

  it('ends a waiting run, which then never starts', async () => {
    const { hub, clock } = testHub();
    let ran = 0;
    hub.workflow(
      createWorkflow({
        name: 'w',
        steps: steps({
          name: 'a',
          handler: () => {
            ran += 1;
          },
        }),
      }),
    );
    await hub.start();
    const run = await hub.startWorkflow('w', 1, { delayMs: 100 });
    expect(await run.cancel()).toBe(true);
    await clock.advance(200);
    expect(ran).toBe(0);
  });
});

describe('startWorkflow', () => {
  it('rejects with the errors of emit', async () => {
    const { hub } = testHub();
    hub.workflow(createWorkflow({ name: 'fulfil', steps: steps('a') }));
    await expect(hub.startWorkflow('fulfil', 1)).rejects.toThrow(HubNotStartedError);
    await hub.start();
    await expect(hub.startWorkflow('fulfill', 1)).rejects.toThrow('did you mean "fulfil"?');
    await expect(hub.startWorkflow('x', 1)).rejects.toThrow(UnknownWorkflowError);
    await expect(hub.startWorkflow('fulfil', undefined)).rejects.toThrow(PayloadNotJsonError);
    await expect(hub.startWorkflow('fulfil', 1, { delayMs: -1 })).rejects.toThrow(InvalidOptionError);
    await hub.stop();
    await expect(hub.startWorkflow('fulfil', 1)).rejects.toThrow(HubStoppedError);
  });

  it('returns the earlier run for a duplicate dedupeId', async () => {
    const { hub } = testHub();
    const workflow = hub.workflow(createWorkflow({ name: 'w', steps: steps('a') }));
    await hub.start();
    const first = await hub.startWorkflow(workflow, 1, { dedupeId: 'x' });
    const second = await hub.startWorkflow(workflow, 2, { dedupeId: 'x' });
    expect(second.runId).toBe(first.runId);
    expect(await second.result()).toBe(1);
  });

  it('evicts the record of a run after 50 later runs have ended', async () => {
    const { hub, clock } = testHub();
    hub.workflow(createWorkflow({ name: 'w', steps: steps('a') }));
    await hub.start();
    const first = await hub.startWorkflow('w', 1);
    await first.result();
    for (let i = 0; i < 50; i += 1) await hub.startWorkflow('w', i);
    await clock.settle();
    await expect(first.result()).rejects.toThrow(UnknownRunError);
    await expect(first.status()).rejects.toThrow(UnknownRunError);
    await expect(first.cancel()).rejects.toThrow(UnknownRunError);
  });
});
