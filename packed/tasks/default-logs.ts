import { createHub } from 'hubline';

// Nothing configures a logger: a failure is one line on stderr.
console.error = (line: string): void => console.log(line.replace(/[\w-]{20,}/g, 'ID'));
const hub = createHub();
hub.event<{ order: string }>({
  type: 'payment.due',
  handler() {
    throw new Error('no money');
  },
});
await hub.start();
await hub.emit('payment.due', { order: 'secret' });
await hub.stop();
