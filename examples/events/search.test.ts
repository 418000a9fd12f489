import { createHub } from 'hubline';
import { expect, test } from 'vitest';
import { eventually } from '../testing/eventually.js';
import { startHub } from '../testing/start-hub.js';
import { brokenPayments, paymentRequested } from './search.js';

test('names the payments that an incident touched, until they have ended well', async () => {
  const hub = createHub({ logger: false });
  let isDown = true;
  hub.event(paymentRequested, {
    handler: () => {
      if (isDown) throw new Error('the bank is down');
    },
  });
  await startHub(hub);
  const payment = { customerId: 'c-1', region: 'eu' };
  const [first, second] = await hub.emitMany(paymentRequested, [
    { ...payment, orderId: 'o-1' },
    { ...payment, orderId: 'o-2' },
  ]);
  await hub.emit(paymentRequested, { ...payment, orderId: 'o-3', region: 'us' });
  await eventually(async () => expect(await hub.metrics('payment.requested')).toMatchObject({ failed: 3 }));
  const [incident] = await hub.errorGroups('payment.requested');
  if (incident === undefined) throw new Error('no error group');
  expect((await brokenPayments(hub, 'eu', incident)).sort()).toEqual([first?.id, second?.id].sort());
  isDown = false;
  await hub.replay(first?.id ?? '');
  await eventually(async () => expect(await hub.metrics('payment.requested')).toMatchObject({ completed: 1 }));
  expect(await brokenPayments(hub, 'eu', incident)).toEqual([second?.id]);
  expect((await hub.search({ tag: 'order:o-1' })).events).toMatchObject([{ id: first?.id, status: 'completed' }]);
  expect((await hub.search({ key: 'c-1' })).events).toHaveLength(3);
});
