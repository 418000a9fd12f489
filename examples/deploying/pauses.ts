import { createHub } from 'hubline';

const hub = createHub({ service: 'billing' });
const requested = hub.event<{ order: string }>({
  type: 'payment.requested',
  handler: ({ payload }) => console.log(`charged ${payload.order}`),
});
await hub.start();

await hub.pause({ type: 'payment.requested' }, { reason: 'card provider is down', by: 'ada' });
await hub.emit(requested, { order: 'A-1' });
const { status, paused } = await hub.health();
for (const { by, reason } of paused) console.log(`${status}, paused by ${by}: ${reason}`);

await hub.resume({ type: 'payment.requested' }, { by: 'ada' });
await hub.stop();
