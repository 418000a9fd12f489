import { expectTypeOf } from 'vitest';
import { z } from 'zod';
import type { FailurePayload } from '../events/follow-ups.js';
import type { Recorded } from '../events/payload.js';
import type { Hub } from '../hub.js';
import type { RunCtx, Step, StepCtx } from './step.js';
import { createWorkflow, type HubWorkflow, type WorkflowStep } from './workflow.js';
import type { WorkflowHandle } from './workflow-handle.js';

declare const hub: Hub;

interface Order {
  readonly id: string;
  readonly items: readonly string[];
}
const order: Order = { id: '1', items: [] };
const orderPlaced = hub.event<Order>({ type: 'order.placed' });
const shipped = hub.event<{ tracking: string }>({ type: 'order.shipped' });
const counted = hub.event<number>({ type: 'counted' });
const failed = hub.event<FailurePayload<Order>>({ type: 'order.failed' });
const parsed = hub.event({ type: 'parsed', schema: z.object({ at: z.string().transform((at) => new Date(at)) }) });

// A list: each payload is the return type of the step before.
const list = createWorkflow({
  name: 'fulfil',
  trigger: orderPlaced,
  onSuccess: shipped,
  onFailure: failed,
  steps: [
    { name: 'pick', handler: ({ payload }: StepCtx<Order>) => ({ parcels: payload.items.length, at: new Date() }) },
    {
      name: 'label',
      retry: { maxAttempts: 2 },
      timeoutMs: 5_000,
      handler: async ({ payload, workflow }) => {
        expectTypeOf(payload).toEqualTypeOf<{ parcels: number; at: string }>();
        expectTypeOf(workflow.input).toEqualTypeOf<Order>();
      },
    },
    {
      name: 'ship',
      handler: ({ payload }) => {
        expectTypeOf(payload).toEqualTypeOf<null>();
        return { tracking: 'x' };
      },
    },
  ],
});
expectTypeOf(list).toEqualTypeOf<HubWorkflow<Order, { tracking: string }>>();
expectTypeOf(hub.workflow(list)).toEqualTypeOf<HubWorkflow<Order, { tracking: string }>>();
const handle = await hub.startWorkflow(list, order, { dedupeId: '1' });
expectTypeOf(handle).toEqualTypeOf<WorkflowHandle<{ tracking: string }>>();
expectTypeOf(await handle.result()).toEqualTypeOf<{ tracking: string }>();
expectTypeOf(await handle.cancel('reason')).toEqualTypeOf<boolean>();
expectTypeOf(await hub.startWorkflow('fulfil', 1)).toEqualTypeOf<WorkflowHandle>();
// @ts-expect-error the input is an Order
await hub.startWorkflow(list, { id: 1 });
// @ts-expect-error an input is required
await hub.startWorkflow(list);

// A function.
const child = createWorkflow({
  name: 'child',
  input: z.object({ n: z.string().transform(Number) }),
  run: ({ input }) => input.n,
});
expectTypeOf(child).toEqualTypeOf<HubWorkflow<{ n: string }, number>>();

const workflow = createWorkflow({
  name: 'w',
  trigger: orderPlaced,
  onSuccess: shipped,
  run: async ({ input, step }: RunCtx<Order>) => {
    expectTypeOf(await step.run('a', () => ({ at: new Date(), skip: undefined as string | undefined }))).toEqualTypeOf<{
      at: string;
      skip: string | undefined;
    }>();
    expectTypeOf(await step.run('b', async () => {})).toEqualTypeOf<null>();
    expectTypeOf(await step.run('c', ({ attempt }) => attempt, { retry: {}, timeoutMs: 1 })).toEqualTypeOf<number>();
    expectTypeOf(await step.map('d', input.items, (item) => item.length)).toEqualTypeOf<number[]>();
    expectTypeOf(await step.waitForEvent('e', orderPlaced)).toEqualTypeOf<Order>();
    expectTypeOf(await step.waitForEvent('f', orderPlaced, { timeoutMs: 1 })).toEqualTypeOf<Order | null>();
    expectTypeOf(await step.waitForEvent('g', parsed)).toEqualTypeOf<{ at: string }>();
    expectTypeOf(await step.invoke('h', child, { n: '1' })).toEqualTypeOf<number>();
    expectTypeOf(await step.emit('i', shipped, { tracking: 'x' })).toEqualTypeOf<{ readonly id: string }>();
    expectTypeOf(await step.sleep('j', 1)).toEqualTypeOf<void>();
    expectTypeOf(step.patched('k')).toEqualTypeOf<boolean>();
    // @ts-expect-error the payload is { tracking: string }
    await step.emit('l', shipped, { tracking: 1 });
    // @ts-expect-error the input is { n: string }
    await step.invoke('m', child, { n: 1 });
    // @ts-expect-error unknown option
    await step.run('n', () => 1, { timeout: 5 });
    return { tracking: 'x' };
  },
});
expectTypeOf(workflow).toEqualTypeOf<HubWorkflow<Order, { tracking: string }>>();

// A key receives the input as the function does.
createWorkflow({
  name: 'keyed',
  input: z.object({ at: z.string().transform((at) => new Date(at)), id: z.string() }),
  key: (input) => {
    expectTypeOf(input).toEqualTypeOf<{ at: Date; id: string }>();
    return input.id;
  },
  concurrencyPerKey: 1,
  run: ({ input }) => input.at,
});
createWorkflow({ name: 'keyed', key: ({ id }) => id, run: ({ input }: RunCtx<Order>) => input.items });
// @ts-expect-error an Order has no such field
createWorkflow({ name: 'keyed', key: ({ customer }) => customer, run: ({ input }: RunCtx<Order>) => input.items });
// @ts-expect-error a key is a string
createWorkflow({ name: 'keyed', key: () => 1, run: () => 1 });

// Wrong definitions do not compile.
// @ts-expect-error the result is no { tracking: string }
createWorkflow({ name: 'w', onSuccess: shipped, run: () => 1 });
createWorkflow({ name: 'w', onSuccess: counted, run: () => 1 });
// @ts-expect-error the event brings an Order
createWorkflow({ name: 'w', trigger: orderPlaced, run: ({ input }: RunCtx<number>) => input });
// @ts-expect-error the event brings an Order; the context of `run` keeps its type
createWorkflow({
  name: 'w',
  input: z.object({ n: z.number() }),
  trigger: orderPlaced,
  run: async ({ input, step }) => step.run('n', () => input.n),
});
// @ts-expect-error a list of triggers
createWorkflow({ name: 'w', triggers: orderPlaced, run: async ({ step }) => step.run('n', () => 1) });
const reviewed = createWorkflow({
  name: 'w',
  triggers: [
    {
      event: orderPlaced,
      when: (payload) => {
        expectTypeOf(payload).toEqualTypeOf<Order>();
        return payload.items.length > 0;
      },
    },
    {
      event: counted,
      when: (payload) => {
        expectTypeOf(payload).toEqualTypeOf<number>();
        return payload > 1;
      },
    },
  ],
  run: ({ input, trigger }) => {
    expectTypeOf(input).toEqualTypeOf<Order | number>();
    expectTypeOf(trigger).toEqualTypeOf<string | undefined>();
    return typeof input;
  },
});
expectTypeOf(await (await hub.startWorkflow(reviewed, 1)).result()).toEqualTypeOf<
  Recorded<
    ReturnType<() => 'string' | 'number' | 'bigint' | 'boolean' | 'symbol' | 'undefined' | 'object' | 'function'>
  >
>();
// @ts-expect-error a verdict is a boolean
createWorkflow({ name: 'w', triggers: [{ event: orderPlaced, when: () => 'yes' }], run: () => 1 });
// @ts-expect-error the input has no type that the event brings
createWorkflow({ name: 'w', input: z.object({ n: z.number() }), triggers: [{ event: orderPlaced }], run: () => 1 });
// @ts-expect-error either run or steps
createWorkflow({ name: 'w', run: () => 1, steps: [] });
createWorkflow({
  name: 'w',
  steps: [
    { name: 'a', handler: () => 1 },
    // @ts-expect-error the step before returns a number
    { name: 'b', handler: ({ payload }: StepCtx<string>) => payload },
  ],
});
// @ts-expect-error steps or run are required
createWorkflow({ name: 'w' });
// @ts-expect-error a step requires a handler
createWorkflow({ name: 'w', steps: [{ name: 'a' }] });
// @ts-expect-error unknown option
createWorkflow({ name: 'w', steps: [{ name: 'a', handler: () => {} }], triggered: 'a' });
// @ts-expect-error unknown option of a step
createWorkflow({ name: 'w', steps: [{ name: 'a', handler: () => {}, timeout: 5 }] });
// @ts-expect-error an event is not a workflow
await hub.startWorkflow(hub.event({ type: 'a' }), 1);

// A list that is built at run time has unknown payloads.
const built: WorkflowStep[] = ['a', 'b'].map((name) => ({ name, handler: ({ payload }) => payload }));
expectTypeOf(createWorkflow({ name: 'w', steps: built })).toEqualTypeOf<HubWorkflow>();

expectTypeOf<Recorded<undefined>>().toEqualTypeOf<null>();
expectTypeOf<Recorded<unknown>>().toEqualTypeOf<unknown>();
expectTypeOf<Recorded<Date[]>>().toEqualTypeOf<string[]>();
// A result with undefined in an array is refused, at any depth.
expectTypeOf<Recorded<(number | undefined)[]>>().toEqualTypeOf<number[]>();
expectTypeOf<Recorded<undefined[]>>().toEqualTypeOf<never[]>();
expectTypeOf<Recorded<readonly [number, undefined]>>().toEqualTypeOf<readonly [number, never]>();
// As of Promise.all over a step that returns nothing.
expectTypeOf<Recorded<[number, Awaited<ReturnType<Step['sleep']>>]>>().toEqualTypeOf<[number, never]>();
expectTypeOf<Recorded<[a: Date, b?: Date]>>().toEqualTypeOf<[a: string, b?: string]>();
expectTypeOf<Recorded<{ list: { at: Date | undefined }[] }>>().toEqualTypeOf<{ list: { at: string | undefined }[] }>();
const sparse = createWorkflow({ name: 'sparse', run: () => ({ list: [1, undefined] }) });
expectTypeOf(await (await hub.startWorkflow(sparse, null)).result()).toEqualTypeOf<{ list: number[] }>();
