import { createHmac } from 'node:crypto';
import { createHub } from 'hubline';
import { expect, onTestFinished, test } from 'vitest';
import { startHub } from '../testing/start-hub.js';
import { orderPlaced, serveEvents, stripeEvent } from './ingest.js';

test('partners emit events, and Stripe calls a webhook', async () => {
  const hub = createHub({ logger: false });
  hub.event(orderPlaced, { handler: () => {} });
  hub.event(stripeEvent, { handler: () => {} });
  await startHub(hub);
  const server = serveEvents(hub, new Map([['Bearer t-1', 'acme']]), 'whsec_1');
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
  const address = server.address();
  const origin = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  const post = async (path: string, body: string, headers: Record<string, string>): Promise<number> =>
    (
      await fetch(origin + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', connection: 'close', ...headers },
        body,
      })
    ).status;
  const order = JSON.stringify({ id: 'o-1', customerId: 'c-1' });
  const partner = { authorization: 'Bearer t-1', 'idempotency-key': 'o-1' };
  expect(await post('/events/order.placed', order, partner)).toBe(202);
  expect(await post('/events/order.placed', order, partner)).toBe(202);
  expect(await post('/events/order.placed', '{}', partner)).toBe(422);
  expect(await post('/events/order.placed', order, {})).toBe(401);
  expect(await hub.metrics('order.placed')).toMatchObject({ received: 1, deduplicated: 1 });
  const event = JSON.stringify({ id: 'evt_1', type: 'charge.refunded' });
  const t = Math.floor(Date.now() / 1_000);
  const v1 = createHmac('sha256', 'whsec_1').update(`${t}.${event}`).digest('hex');
  expect(await post('/hooks/stripe.event', event, { 'stripe-signature': `t=${t},v1=${v1}` })).toBe(202);
  expect(await post('/hooks/stripe.event', event, { 'stripe-signature': `t=${t},v1=${'0'.repeat(64)}` })).toBe(401);
  expect(await hub.metrics('stripe.event')).toMatchObject({ received: 1 });
});
