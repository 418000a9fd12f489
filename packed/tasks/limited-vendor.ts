import { createHub, createLimit, memoryTransport } from 'hubline';
import { createFakeClock } from 'hubline/testing';

const vendor = createLimit({ name: 'vendor', max: 2, perMs: 60_000 });
const clock = createFakeClock();
const hub = createHub({ transport: memoryTransport({ clock }) });
let calls = 0;
const call = (): void => {
  calls += 1;
};
hub.event({ type: 'order.placed', limit: vendor, handler: call });
hub.event({ type: 'order.refunded', limit: vendor, handler: call });
await hub.start();
for (const type of ['order.placed', 'order.refunded', 'order.placed', 'order.refunded']) await hub.emit(type, {});
await clock.settle();
console.log(`at once: ${calls}`);
await clock.advance(60_000);
console.log(`after a minute: ${calls}`);
await hub.stop();
