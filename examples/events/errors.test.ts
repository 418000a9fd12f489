import { createHub, memoryTransport } from 'hubline';
import { expect, test } from 'vitest';
import { acceptOrder } from './errors.js';

test('answers 400 with the reason for an invalid order, and 503 while the shop is busy', async () => {
  const hub = createHub({ transport: memoryTransport({ maxPending: 1 }) });
  hub.event({
    type: 'order.created',
    schema: { type: 'object', properties: { total: { type: 'number', minimum: 0 } }, required: ['total'] },
    handler: () => new Promise(() => {}),
  });
  await hub.start();
  expect(await acceptOrder(hub, { total: -1 })).toMatchObject({
    status: 400,
    message: expect.stringContaining('total'),
  });
  expect(await acceptOrder(hub, { total: 5 })).toMatchObject({ status: 202 });
  expect(await acceptOrder(hub, { total: 5 })).toMatchObject({ status: 503 });
  await hub.stop({ drainMs: 0 });
  expect(await acceptOrder(hub, { total: 5 })).toMatchObject({ status: 503 });
});
