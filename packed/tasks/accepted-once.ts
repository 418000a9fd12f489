import { createEvent, createHub } from 'hubline';

const orderPlaced = createEvent<{ id: string }>({ type: 'order.placed', dedupeWindowMs: 3_600_000 });
const hub = createHub();
hub.event(orderPlaced, { handler: ({ payload }) => console.log(`packing ${payload.id}`) });
await hub.start();
for (let click = 1; click <= 3; click += 1) {
  const { deduplicated } = await hub.emit(orderPlaced, { id: 'A-1' }, { dedupeId: 'A-1' });
  console.log(`click ${click}: ${deduplicated ? 'known' : 'accepted'}`);
}
await hub.stop();
