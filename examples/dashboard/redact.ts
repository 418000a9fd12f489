import { createHub } from 'hubline';

const hub = createHub({
  redact: ({ name, message }) => ({ name, message: message.replace(/\S+@\S+/g, '[address]') }),
});

hub.event<{ to: string }>({
  type: 'mail.sent',
  handler: ({ payload }) => {
    throw new Error(`the mailbox of ${payload.to} is full`);
  },
});
await hub.start();
await hub.emit('mail.sent', { to: 'alice@example.com' });
await hub.stop();
console.log((await hub.failures('mail.sent')).map(({ message }) => message).join('\n'));
