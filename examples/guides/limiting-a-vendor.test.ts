import { scriptedProvider } from 'hubline/testing';
import { describe, expect, test } from 'vitest';
import { eventually } from '../testing/eventually.js';
import { everyTransport } from '../testing/every-transport.js';
import { startHub } from '../testing/start-hub.js';
import { createBilling } from './limiting-a-vendor.js';

describe.each(everyTransport)('on %s', (_name, options) => {
  test('handlers and steps of a tenant share ten requests, and other tenants have their own', async () => {
    const charged: string[] = [];
    const refunded: string[] = [];
    const vendor = {
      charge: async (order: string) => void charged.push(order),
      refund: async (order: string) => void refunded.push(order),
      rates: async () => 10.5,
    };
    const provider = scriptedProvider([
      { toolCalls: [{ name: 'rates', arguments: { currency: 'NOK' } }] },
      'A euro is 10.5 kroner.',
    ]);
    const hub = await startHub(createBilling(vendor, provider, options()));
    const orders = Array.from({ length: 6 }, (_, index) => `ada-${index}`);
    const run = await hub.startWorkflow('refund', { tenant: 'ada', orders });
    for (const order of orders) await hub.emit('order.placed', { tenant: 'ada', order });
    await hub.emit('order.placed', { tenant: 'bob', order: 'bob-0' });
    await hub.emit('question.asked', 'How much is a euro?');
    expect(await run.result()).toBe(6);
    await eventually(async () => {
      expect(charged).toHaveLength(7);
      expect((await hub.metrics('question.answered')).received).toBe(1);
    });
    expect(refunded.sort()).toEqual(orders);
  });
});
