import { memoryTransport } from 'hubline';
import { createFakeClock } from 'hubline/testing';
import { expect, test } from 'vitest';
import { createReminderHub } from './reminder.js';

test('reminds after three days, and retries after a minute if the mail server fails', async () => {
  const clock = createFakeClock();
  const sent: string[] = [];
  const send = async (email: string): Promise<void> => {
    sent.push(email);
    if (sent.length === 1) throw new Error('mailbox busy');
  };
  const hub = createReminderHub(send, { transport: memoryTransport({ clock }) });
  await hub.start();
  await hub.emit('user.signed-up', { email: 'ada@example.com' });

  await clock.advance(3 * 86_400_000 - 1);
  expect(sent).toHaveLength(0);
  await clock.advance(1);
  expect(sent).toHaveLength(1);
  await clock.advance(60_000);
  expect(sent).toHaveLength(2);
  expect(await hub.metrics('reminder.due')).toMatchObject({ received: 1, completed: 1, retried: 1 });
  await hub.stop();
});
