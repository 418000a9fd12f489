import { createHub } from 'hubline';

let isBankOpen = false;
const hub = createHub({ logger: false });
const due = hub.event<{ order: string }>({
  type: 'payment.due',
  retry: { maxAttempts: 3, initialDelayMs: 1 },
  handler({ payload, attempt }) {
    if (!isBankOpen) throw new Error(`the bank is closed, attempt ${attempt}`);
    console.log(`charged ${payload.order}`);
  },
});
await hub.start();
await hub.emit(due, { order: 'A-1' });
let [dead] = await hub.deadLetters<{ order: string }>('payment.due');
for (; dead === undefined; [dead] = await hub.deadLetters<{ order: string }>('payment.due')) {
  await new Promise((resolve) => setTimeout(resolve, 5));
}
console.log(`${dead.payload.order}: ${dead.message}`);
isBankOpen = true;
await hub.replay(dead.id);
await hub.stop();
const { received, completed, failed, pending, retried } = await hub.metrics('payment.due');
console.log(JSON.stringify({ received, completed, failed, pending, retried }));
