import { expectTypeOf } from 'vitest';
import type { Hub } from '../hub.js';
import { createWorkflow, type HubWorkflow, type StepCtx } from './workflow.js';
import type { WorkflowHandle } from './workflow-handle.js';

declare const hub: Hub;

const workflow = createWorkflow({
  name: 'fulfil',
  trigger: 'order.paid',
  onFailure: 'order.failed',
  steps: [
    {
      name: 'pick',
      retry: { maxAttempts: 2 },
      timeoutMs: 5_000,
      handler: (ctx) => {
        expectTypeOf(ctx).toEqualTypeOf<StepCtx>();
        expectTypeOf(ctx.payload).toEqualTypeOf<unknown>();
        expectTypeOf(ctx.workflow.outputs).toEqualTypeOf<Readonly<Record<string, unknown>>>();
      },
    },
    { name: 'ship', handler: ({ payload }: StepCtx<{ box: string }>) => payload.box },
  ],
});
expectTypeOf(workflow).toEqualTypeOf<HubWorkflow>();
expectTypeOf(hub.workflow(workflow)).toEqualTypeOf<HubWorkflow>();

const handle = await hub.startWorkflow(workflow, { id: '1' }, { dedupeId: '1' });
expectTypeOf(handle).toEqualTypeOf<WorkflowHandle>();
expectTypeOf(await handle.cancel()).toEqualTypeOf<boolean>();
await hub.startWorkflow('fulfil', { id: '1' });

// @ts-expect-error steps are required
createWorkflow({ name: 'w' });
// @ts-expect-error a step requires a handler
createWorkflow({ name: 'w', steps: [{ name: 'a' }] });
// @ts-expect-error unknown option
createWorkflow({ name: 'w', steps: [{ name: 'a', handler: () => {} }], triggers: 'a' });
// @ts-expect-error unknown option of a step
createWorkflow({ name: 'w', steps: [{ name: 'a', handler: () => {}, timeout: 5 }] });
// @ts-expect-error a payload is required
await hub.startWorkflow(workflow);
// @ts-expect-error an event is not a workflow
await hub.startWorkflow(hub.event({ type: 'a' }), 1);
