import { createAgent } from 'hubline/agents';
import { scriptedProvider } from 'hubline/testing';
import { expect, test, vi } from 'vitest';
import { createTriageHub, describeTicket, ticketOpened, triage } from './typed-answers.js';

test('a ticket becomes a typed object, after a correction', async () => {
  const provider = scriptedProvider([
    { toolCalls: [{ name: 'find_order', arguments: { mail: 'ada@example.com' } }] },
    '{"category":"refund","urgency":4,"orderId":"o-7"}',
    '{"category":"billing","urgency":4,"orderId":"o-7"}',
  ]);
  const assigned: unknown[] = [];
  const orders = new Map([['ada@example.com', 'o-7']]);
  const hub = createTriageHub(provider, orders, (...task) => assigned.push(task));
  await hub.start();
  await hub.emit(ticketOpened, { input: 'You charged me twice. ada@example.com' });
  await vi.waitFor(() => expect(assigned).toEqual([['finance', 4]]));
  await hub.stop();
  provider.assertDone();
  expect(provider.calls[2]?.messages.at(-1)?.content).toContain('answer.category');
});

test.each([
  ['the data of an answer', '{"category":"billing","urgency":4,"orderId":null}', 'billing, urgency 4'],
  ['the reason of a failure', new Error('down'), 'down'],
])('a description without a hub has %s', async (_, answer, expected) => {
  const provider = scriptedProvider([answer]);
  const config = { name: 'triage', systemPrompt: '', provider, model: { model: 'm' }, outputSchema: triage };
  expect(await describeTicket(createAgent(config), 'You charged me twice.')).toBe(expected);
});
