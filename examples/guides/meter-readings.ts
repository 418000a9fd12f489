import { createEvent, createHub, type Hub, type HubOptions } from 'hubline';
import { z } from 'zod';

export const readingTaken = createEvent({
  type: 'reading.taken',
  schema: z.object({ meter: z.string(), kWh: z.number() }),
});

export interface Reading {
  readonly id: string;
  readonly meter: string;
  readonly kWh: number;
}

/** Creates a hub that stores up to 100 readings at once. `insert` returns the ids of the rows that it refused. */
export function createMeterHub(
  insert: (rows: readonly Reading[], signal: AbortSignal) => Promise<ReadonlySet<string>>,
  options: HubOptions = {},
): Hub {
  const hub = createHub({ service: 'meters', ...options });
  hub.event(readingTaken, {
    batch: { max: 100, waitMs: 500 },
    concurrency: 2,
    retry: { maxAttempts: 5 },
    timeoutMs: 10_000,
    handler: async (events, ctx) => {
      const rows = events.map(({ id, payload }) => ({ id, ...payload }));
      const refused = await insert(rows, ctx.signal);
      for (const event of events) {
        if (refused.has(event.id)) ctx.fail(event, new Error(`meter ${event.payload.meter} is unknown`));
      }
    },
  });
  return hub;
}
