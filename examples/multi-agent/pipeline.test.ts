import { scriptedProvider } from 'hubline/testing';
import { expect, test, vi } from 'vitest';
import { createTicketHub } from './pipeline.js';

test('each agent receives the answer of the previous one', async () => {
  const provider = scriptedProvider(['Wants a refund.', 'We refund you.', 'Dear Ada, we refund you.']);
  const answers: string[] = [];
  const hub = createTicketHub(provider, (answer) => answers.push(answer));
  await hub.start();
  await hub.emit('ticket.opened', { input: 'My teapot broke!' });
  await vi.waitFor(() => expect(answers).toEqual(['Dear Ada, we refund you.']));
  await hub.stop();
  const inputs = provider.calls.map(({ messages }) => messages.at(-1)?.content);
  expect(inputs).toEqual(['My teapot broke!', 'Wants a refund.', 'We refund you.']);
  provider.assertDone();
});
