import { expectTypeOf } from 'vitest';
import { z } from 'zod';
import type { Hub } from '../hub.js';
import type { DeadLetter } from '../introspection/dead-letters.js';
import type { HandlerCtx, HandlerFunction } from './context.js';
import type { EventRef } from './emit.js';

declare const hub: Hub;

expectTypeOf(hub.event({ type: 'declared' })).toEqualTypeOf<EventRef<unknown>>();

const typed = hub.event<{ total: number }>({
  type: 'typed',
  handler: (ctx) => {
    expectTypeOf(ctx).toEqualTypeOf<HandlerCtx<{ total: number }>>();
  },
});
expectTypeOf(typed).toEqualTypeOf<EventRef<{ total: number }>>();
expectTypeOf(await hub.deadLetters(typed)).toEqualTypeOf<readonly DeadLetter<{ total: number }>[]>();

declare const onOrder: HandlerFunction<{ id: string }>;
expectTypeOf(hub.event({ type: 'from handler', handler: onOrder })).toEqualTypeOf<EventRef<{ id: string }>>();

const withSchema = hub.event({
  type: 'schema',
  schema: z.object({ at: z.string().transform((text) => new Date(text)), count: z.number().default(1) }),
  handler: ({ payload }) => {
    expectTypeOf(payload).toEqualTypeOf<{ at: Date; count: number }>();
  },
});
expectTypeOf(withSchema).toEqualTypeOf<EventRef<{ at: string; count?: number | undefined }>>();

const withJsonSchema = hub.event<{ id: string }>({ type: 'json', schema: { type: 'object', required: ['id'] } });
expectTypeOf(withJsonSchema).toEqualTypeOf<EventRef<{ id: string }>>();

// @ts-expect-error the handler does not accept the output of the schema
hub.event({ type: 'a', schema: z.object({ total: z.number() }), handler: onOrder });
// @ts-expect-error a type is required
hub.event({ handler: () => {} });
// @ts-expect-error unknown option
hub.event({ type: 'a', retries: 3 });
// @ts-expect-error unknown option of retry
hub.event({ type: 'a', handler: () => {}, retry: { attempts: 3 } });
// @ts-expect-error a duration is a number
hub.event({ type: 'a', handler: () => {}, timeoutMs: '5s' });
// @ts-expect-error rate requires perMs
hub.event({ type: 'a', handler: () => {}, rate: { max: 5 } });

hub.event({
  type: 'retried',
  handler: () => {},
  retry: {
    maxAttempts: 5,
    retryIf: (error, attempt) => {
      expectTypeOf(error).toEqualTypeOf<unknown>();
      expectTypeOf(attempt).toEqualTypeOf<number>();
      return attempt < 3;
    },
  },
});
