import { createEvent, createHub } from 'hubline';

const imported = createEvent<{ customer: string }>({ type: 'row.imported', key: ({ customer }) => customer });
const order: string[] = [];
let open = (): void => {};
const opened = new Promise<void>((resolve) => {
  open = resolve;
});
const hub = createHub();
hub.event(imported, {
  concurrency: 1,
  async handler({ payload }) {
    await opened;
    order.push(payload.customer);
  },
});
await hub.start();
await hub.emitMany(
  imported,
  Array.from({ length: 1_000 }, () => ({ customer: 'big' })),
);
await hub.emit(imported, { customer: 'small' });
open();
await hub.stop();
console.log(
  `1,000 rows of a big customer wait, and the one of a small customer is number ${order.indexOf('small') + 1}`,
);
