import { createHub } from 'hubline';

const hub = createHub({ logger: false });
const taken = hub.event<{ meter: string; kWh: number }>({
  type: 'reading.taken',
  batch: { max: 100, waitMs: 20 },
  handler(events, ctx) {
    console.log(`inserting ${events.length} rows`);
    for (const event of events) if (event.payload.kWh < 0) ctx.fail(event, new Error('a negative reading'));
  },
});
await hub.start();
await hub.emitMany(
  taken,
  [3, -1, 4].map((kWh, index) => ({ meter: `M-${index}`, kWh })),
);
await hub.stop();
const { completed, failed } = await hub.metrics('reading.taken');
console.log(`${completed} completed, ${failed} failed`);
