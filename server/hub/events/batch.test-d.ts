import { expectTypeOf } from 'vitest';
import { z } from 'zod';
import type { Hub } from '../hub.js';
import type { BatchCtx, BatchEvent } from './batch.js';
import { createEvent } from './event.js';

declare const hub: Hub;

const row = createEvent({ type: 'row', schema: z.object({ at: z.string().transform((at) => new Date(at)) }) });
const stored = hub.event<null>({ type: 'stored' });
const counted = hub.event<number>({ type: 'counted' });

hub.event(row, {
  batch: { max: 10, waitMs: 100 },
  onSuccess: stored,
  when: ({ at }) => at.getTime() > 0,
  handler: async (events, ctx) => {
    expectTypeOf(events).toEqualTypeOf<readonly BatchEvent<{ at: Date }>[]>();
    expectTypeOf(ctx).toEqualTypeOf<BatchCtx>();
    for (const event of events) {
      ctx.fail(event, new Error('no'));
      await ctx.emit(event, counted, event.payload.at.getTime());
      // @ts-expect-error the event takes a number
      await ctx.emit(event, counted, 'text');
    }
  },
});
hub.event({
  type: 'inline',
  schema: z.object({ n: z.number() }),
  batch: { max: 10, waitMs: 100 },
  handler: (events) => {
    expectTypeOf(events[0]?.payload.n).toEqualTypeOf<number | undefined>();
  },
});
hub.event<{ n: number }>({
  type: 'plain',
  batch: { max: 10, waitMs: 100 },
  handler: (events) => {
    expectTypeOf(events[0]?.payload).toEqualTypeOf<{ n: number } | undefined>();
  },
});
hub.event(row, {
  batch: { max: 10, waitMs: 100 },
  // @ts-expect-error a batch is not durable
  handler: (_events, { step }) => step.run('a', () => 1),
});
// @ts-expect-error waitMs is missing
hub.event(row, { batch: { max: 10 }, handler: () => {} });
// @ts-expect-error a batch has no payload to choose a limit by
hub.event(row, { batch: { max: 10, waitMs: 1 }, limit: () => {}, handler: () => {} });
