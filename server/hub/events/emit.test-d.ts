import type { PoolClient } from 'pg';
import { expectTypeOf } from 'vitest';
import { z } from 'zod';
import type { Receipt } from '../../transports/transport.js';
import type { Hub } from '../hub.js';
import type { EmitCause, EmitOptions, EventRef } from './emit.js';

declare const hub: Hub;
declare const order: EventRef<{ id: string; email?: string }>;

expectTypeOf(await hub.emit(order, { id: '1' })).toEqualTypeOf<Receipt>();
await hub.emit(order, { id: '1', email: 'ada@example.com' }, { delayMs: 5 });
await hub.emit('any.type', { anything: true });

// @ts-expect-error email is misspelt
await hub.emit(order, { id: '1', emial: 'ada@example.com' });
// @ts-expect-error id is missing
await hub.emit(order, { email: 'ada@example.com' });
// @ts-expect-error id is a string
await hub.emit(order, { id: 1 });
// @ts-expect-error undefined is no email under exactOptionalPropertyTypes
await hub.emit(order, { id: '1', email: undefined });
// @ts-expect-error a payload is required
await hub.emit(order);
// @ts-expect-error a type is a string or a reference
await hub.emit(7, {});
// @ts-expect-error unknown option
await hub.emit(order, { id: '1' }, { delay: 5 });

const parsed = hub.event({ type: 'parsed', schema: z.object({ at: z.string().transform((text) => new Date(text)) }) });
await hub.emit(parsed, { at: '2026-01-01' });
// @ts-expect-error emit takes the input of the schema, not its output
await hub.emit(parsed, { at: new Date() });

hub.event({
  type: 'nested',
  handler: async ({ emit }) => {
    await emit(order, { id: '1' });
    // @ts-expect-error email is misspelt
    await emit(order, { id: '1', emial: 'x' });
  },
});

expectTypeOf<EmitOptions>().toEqualTypeOf<{
  requestId?: string;
  delayMs?: number;
  dedupeId?: string;
  priority?: number;
  cause?: EmitCause;
}>();

declare const tx: PoolClient;
expectTypeOf(await hub.emit(order, { id: '1' }, { tx })).toEqualTypeOf<{ readonly id: string }>();
expectTypeOf(await hub.emitMany(order, [{ id: '1' }], { tx, dedupeId: ({ id }) => id })).toEqualTypeOf<
  readonly { readonly id: string }[]
>();
// @ts-expect-error id is a string
await hub.emit(order, { id: 1 }, { tx });
// @ts-expect-error unknown option
await hub.emit(order, { id: '1' }, { tx, delay: 5 });
// @ts-expect-error no transaction
await hub.emit(order, { id: '1' }, { tx: 'BEGIN' });

hub.event({
  type: 'ended.in.a.transaction',
  handler: async ({ transaction }) => {
    expectTypeOf(await transaction(async (client: PoolClient) => (await client.query('')).rowCount)).toEqualTypeOf<
      number | null
    >();
    await transaction(({ query }) => query('SELECT 1', []), { isolation: 'serializable' });
    // @ts-expect-error no such isolation level
    await transaction(() => {}, { isolation: 'none' });
  },
});
