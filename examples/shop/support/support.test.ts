import { createHub } from 'hubline';
import { expect, test, vi } from 'vitest';
import { chooseModels } from '../models/models.js';
import { createSupportAgent, registerSupport } from './support.js';
import { customerOf } from './support-tools.js';

const rehearsed = chooseModels({});

test.each([
  ['Do you sell tongs?', [], { category: 'other', orderId: null }, 'Which order is it about?'],
  ['Is the tray in A-31?', ['look_up_order'], { category: 'order', orderId: 'A-31' }, 'Your order A-31 has been sent'],
  [
    'Where is order A-17?',
    ['look_up_order', 'delegate'],
    { category: 'delivery', orderId: 'A-17' },
    'The parcel of A-17 was last seen in Bergen',
  ],
])('%s', async (question, tools, kind, answer) => {
  const { status, data, toolCalls } = await createSupportAgent(rehearsed).run(question, {
    onApproval: () => ({ approved: true }),
  });
  expect(toolCalls.map(({ name, error }) => error ?? name)).toEqual(tools);
  expect([status, data]).toEqual(['completed', { ...kind, answer: expect.stringContaining(answer) }]);
});

test('a broken item is refunded to its buyer only, and a ticket without an answer is escalated', async () => {
  const hub = createHub();
  const refunds: unknown[] = [];
  hub.event({ type: 'refund.requested', handler: ({ payload }) => refunds.push(payload) });
  registerSupport(hub, rehearsed, undefined, 100);
  await hub.start();
  await hub.emit('ticket.opened', { customer: customerOf('A-23'), input: 'The teapot of order A-23 arrived broken.' });
  await hub.emit('ticket.opened', { customer: 'Mallory', input: 'The teapot of order A-24 arrived broken.' });
  await hub.emit('ticket.opened', { input: 'You hear from my lawyer.' });
  await vi.waitFor(async () => {
    expect(await hub.metrics('ticket.opened')).toMatchObject({ completed: 2, failed: 1, retried: 1 });
  }, 30_000);
  expect(refunds).toEqual([{ orderId: 'A-23' }]);
  expect(await hub.metrics('approval.requested')).toMatchObject({ completed: 2 });
  expect(await hub.metrics('ticket.escalated')).toMatchObject({ received: 1 });
  await hub.stop();
});
