import { createEvent, createHub } from 'hubline';

const changed = createEvent<{ customer: string; step: number }>({
  type: 'order.changed',
  key: ({ customer }) => customer,
});
const seen = new Map<string, number[]>();
let running = 0;
let most = 0;
const hub = createHub();
hub.event(changed, {
  concurrencyPerKey: 1,
  async handler({ payload: { customer, step } }) {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setTimeout(resolve, 5));
    seen.set(customer, [...(seen.get(customer) ?? []), step]);
    running -= 1;
  },
});
await hub.start();
for (const step of [1, 2, 3]) for (const customer of ['ada', 'bob']) await hub.emit(changed, { customer, step });
await hub.stop();
console.log(JSON.stringify(Object.fromEntries(seen)), `${most} at once`);
