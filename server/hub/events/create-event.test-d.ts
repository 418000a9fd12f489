import { expectTypeOf } from 'vitest';
import { z } from 'zod';
import type { Receipt } from '../../transports/transport.js';
import type { Hub } from '../hub.js';
import type { HandlerCtx } from './context.js';
import type { EventRef, PayloadOf } from './emit.js';
import { createEvent, type EventDefinition } from './event.js';

declare const hub: Hub;

const placed = createEvent({
  type: 'order.placed',
  schema: z.object({ id: z.string(), at: z.string().transform((text) => new Date(text)), email: z.email().optional() }),
  key: (payload) => {
    expectTypeOf(payload.at).toEqualTypeOf<Date>();
    return payload.id;
  },
  tags: (payload) => {
    expectTypeOf(payload.at).toEqualTypeOf<Date>();
    return [payload.id];
  },
});
interface PlacedInput {
  id: string;
  at: string;
  email?: string | undefined;
}
interface Placed {
  id: string;
  at: Date;
  email?: string | undefined;
}
expectTypeOf(placed).toEqualTypeOf<EventDefinition<PlacedInput, Placed>>();
expectTypeOf(placed).toExtend<EventRef<PlacedInput, Placed>>();
expectTypeOf<PayloadOf<typeof placed>>().toEqualTypeOf<Placed>();
expectTypeOf<PayloadOf<{ id: string }>>().toEqualTypeOf<never>();
expectTypeOf(hub.event(placed)).toEqualTypeOf(placed);
hub.event(placed, {
  concurrencyPerKey: 1,
  handler: (ctx) => {
    expectTypeOf(ctx).toEqualTypeOf<HandlerCtx<Placed>>();
  },
});
await hub.emit(placed, { id: 'o-1', at: '2026-01-01' });
// @ts-expect-error the schema's input, not its output
await hub.emit(placed, { id: 'o-1', at: new Date() });
// @ts-expect-error a misspelt optional property
await hub.emit(placed, { id: 'o-1', at: '', emial: 'a@b.no' });
// @ts-expect-error the definition has a type
hub.event(placed, { type: 'other' });
// @ts-expect-error the handler does not accept the payload
hub.event(placed, { handler: (_: HandlerCtx<{ id: number }>) => {} });

const plain = createEvent<{ id: string }>({ type: 'plain', key: ({ id }) => id });
expectTypeOf(plain).toEqualTypeOf<EventDefinition<{ id: string }>>();
const json = createEvent<{ id: string }>({ type: 'json', schema: { type: 'object' } });
expectTypeOf(json).toEqualTypeOf<EventDefinition<{ id: string }>>();
// @ts-expect-error a key is a string
createEvent<{ id: number }>({ type: 'a', key: ({ id }) => id });
// @ts-expect-error settings belong to hub.event
createEvent({ type: 'a', handler: () => {} });

hub.event<{ customerId: string }>({
  type: 'keyed',
  key: ({ customerId }) => customerId,
  concurrencyPerKey: 1,
  rate: { max: 5, perMs: 1_000, perKey: true },
  debounceMs: 5,
  debounceMaxMs: 50,
  handler: ({ payload }) => payload.customerId,
});
// @ts-expect-error no such property
hub.event<{ customerId: string }>({ type: 'a', key: ({ customer }) => customer });

expectTypeOf(await hub.emitMany(placed, [{ id: 'o-1', at: '' }])).toEqualTypeOf<readonly Receipt[]>();
await hub.emitMany(placed, [{ id: 'o-1', at: '' }], {
  delayMs: 5,
  dedupeId: (payload, index) => {
    expectTypeOf(payload).toEqualTypeOf<PlacedInput>();
    return `${payload.id}-${index}`;
  },
});
await hub.emitMany('by name', [1, 'two', null]);
// @ts-expect-error a misspelt optional property
await hub.emitMany(placed, [{ id: 'o-1', at: '', emial: 'a@b.no' }]);
// @ts-expect-error one payload instead of several
await hub.emitMany(placed, { id: 'o-1', at: '' });
// @ts-expect-error dedupeId is a function
await hub.emitMany(placed, [], { dedupeId: 'x' });

expectTypeOf(await hub.cancel('id')).toEqualTypeOf<boolean>();
