import { expectTypeOf } from 'vitest';
import { z } from 'zod';
import { createEvent } from '../events/event.js';
import type { Hub } from '../hub.js';
import { defineWorkflow, type WorkflowDefinition } from './define-workflow.js';
import type { RunCtx } from './step.js';
import { createWorkflow, type HubWorkflow } from './workflow.js';
import type { WorkflowHandle } from './workflow-handle.js';

declare const hub: Hub;

const shipped = hub.event<{ at: string }>({ type: 'shipped' });
const counted = hub.event<number>({ type: 'counted' });

const fulfil = defineWorkflow({
  name: 'fulfil',
  service: 'fulfilment',
  input: z.object({ id: z.string(), n: z.string().transform(Number) }),
  output: z.object({ at: z.string().transform((at) => new Date(at)) }),
  key: (input) => {
    expectTypeOf(input).toEqualTypeOf<{ id: string; n: number }>();
    return input.id;
  },
  tags: (input) => {
    expectTypeOf(input).toEqualTypeOf<{ id: string; n: number }>();
    return [input.id];
  },
});
interface Start {
  id: string;
  n: string;
}
expectTypeOf(fulfil).toEqualTypeOf<
  WorkflowDefinition<Start, { at: string }, { id: string; n: number }, { at: string }>
>();

// The function receives the schema's output and returns the input of the result's schema.
const workflow = createWorkflow(fulfil, {
  onSuccess: shipped,
  concurrencyPerKey: 1,
  version: 2,
  run: async (ctx) => {
    expectTypeOf(ctx).toEqualTypeOf<RunCtx<{ id: string; n: number }>>();
    return { at: await ctx.step.run('now', () => 'now') };
  },
});
expectTypeOf(workflow).toEqualTypeOf<HubWorkflow<Start, { at: string }>>();
expectTypeOf(hub.workflow(workflow)).toEqualTypeOf(workflow);
// @ts-expect-error the result is { at: string }
createWorkflow(fulfil, { run: () => ({ at: 1 }) });
// @ts-expect-error the result is { at: string }
createWorkflow(fulfil, { run: async () => {} });
// @ts-expect-error the input has no such field
createWorkflow(fulfil, { run: ({ input }) => ({ at: input.at }) });
// @ts-expect-error the event's payload is a number
createWorkflow(fulfil, { onSuccess: counted, run: () => ({ at: '' }) });
// @ts-expect-error a function is required
createWorkflow(fulfil, {});
// @ts-expect-error the key belongs to the definition
createWorkflow(fulfil, { key: () => 'a', run: () => ({ at: '' }) });
// @ts-expect-error the name belongs to the definition
createWorkflow(fulfil, { name: 'other', run: () => ({ at: '' }) });

// The key of received events is computed from the input.
defineWorkflow({
  name: 'waiting',
  input: z.object({ id: z.string(), n: z.string().transform(Number) }),
  receives: [
    {
      event: shipped,
      key: (input) => {
        expectTypeOf(input).toEqualTypeOf<{ id: string; n: number }>();
        return input.id;
      },
    },
    { event: 'by name', key: () => undefined },
  ],
});
// @ts-expect-error a key is a string
defineWorkflow<{ n: number }>({ name: 'waiting', receives: [{ event: shipped, key: ({ n }) => n }] });
// @ts-expect-error the events belong to the definition
createWorkflow(fulfil, { receives: [], run: () => ({ at: '' }) });

// The payload of the events that cancel is that of each event.
const stopped = createEvent({ type: 'stopped', schema: z.object({ because: z.string() }) });
defineWorkflow({
  name: 'stoppable',
  input: z.object({ id: z.string() }),
  cancelOn: [
    {
      event: stopped,
      key: ({ id }) => id,
      when: (payload) => {
        expectTypeOf(payload).toEqualTypeOf<{ because: string }>();
        return payload.because !== '';
      },
    },
    { event: shipped },
    { event: 'by name', when: (payload) => payload === null },
  ],
});
defineWorkflow<{ id: string }>({
  name: 'stoppable',
  cancelOn: [{ event: stopped, key: ({ id }) => id, when: (payload: { because: string }) => payload.because !== '' }],
});
// @ts-expect-error a reason to cancel is decided by a boolean
defineWorkflow({ name: 'stoppable', cancelOn: [{ event: stopped, when: () => 'no' }] });
// @ts-expect-error the events belong to the definition
createWorkflow(fulfil, { cancelOn: [], run: () => ({ at: '' }) });

// A wait decides about the payloads that its event stores.
createWorkflow({
  name: 'choosy',
  run: async ({ step }) => {
    const reply = await step.waitForEvent('reply', stopped, {
      when: (payload) => {
        expectTypeOf(payload).toEqualTypeOf<{ because: string }>();
        return true;
      },
    });
    expectTypeOf(reply).toEqualTypeOf<{ because: string }>();
    // @ts-expect-error a wait is decided by a boolean
    await step.waitForEvent('other', stopped, { when: () => 1 });
  },
});

// Whoever starts it has the same types.
const run = await hub.startWorkflow(fulfil, { id: '1', n: '2' });
expectTypeOf(run).toEqualTypeOf<WorkflowHandle<{ at: string }>>();
expectTypeOf(hub.workflowHandle(fulfil, 'id')).toEqualTypeOf<WorkflowHandle<{ at: string }>>();
expectTypeOf(hub.workflowHandle(workflow, 'id')).toEqualTypeOf<WorkflowHandle<{ at: string }>>();
await hub.getRun(fulfil, 'id', { outputs: true });
// @ts-expect-error the schema's input, not its output
await hub.startWorkflow(fulfil, { id: '1', n: 2 });
// @ts-expect-error a definition is not registered
hub.workflow(fulfil);

// Type arguments alone, and JSON Schema.
const typed = defineWorkflow<{ id: string }, { at: Date }>({ name: 'typed', key: ({ id }) => id });
expectTypeOf(typed).toEqualTypeOf<WorkflowDefinition<{ id: string }, { at: string }, { id: string }, { at: Date }>>();
createWorkflow(typed, { run: () => ({ at: new Date() }) });
const json = defineWorkflow<{ id: string }>({ name: 'json', input: { type: 'object' }, output: { type: 'object' } });
expectTypeOf(json).toEqualTypeOf<WorkflowDefinition<{ id: string }>>();
createWorkflow(json, { run: ({ input }) => input.id });
expectTypeOf(await (await hub.startWorkflow(json, { id: '1' })).result()).toEqualTypeOf<unknown>();

// One schema of two.
const inputOnly = defineWorkflow({ name: 'a', input: z.object({ id: z.string() }) });
expectTypeOf(inputOnly).toEqualTypeOf<WorkflowDefinition<{ id: string }>>();
const outputOnly = defineWorkflow({ name: 'a', output: z.number() });
expectTypeOf(outputOnly).toEqualTypeOf<WorkflowDefinition<unknown, number>>();
createWorkflow(outputOnly, { run: () => 1 });
// @ts-expect-error the result is a number
createWorkflow(outputOnly, { run: () => 'one' });

// @ts-expect-error an input has no such field
defineWorkflow<{ id: string }>({ name: 'a', key: ({ customer }) => customer });
// @ts-expect-error the trigger belongs to createWorkflow
defineWorkflow({ name: 'a', trigger: shipped });
// @ts-expect-error a name is required
defineWorkflow({});
