import { describe, expect, test, vi } from 'vitest';
import { everyTransport } from '../testing/every-transport.js';
import { startHub } from '../testing/start-hub.js';
import { createOrderChangesHub, orderChanged } from './one-per-customer.js';

const change = (text: string) => ({ customerId: text.slice(0, 1), change: text });

describe.each(everyTransport)('on %s', (_name, options) => {
  test('keeps the order of a customer through a retry, while another customer goes on', async () => {
    const log: string[] = [];
    const apply = async (_customerId: string, text: string): Promise<void> => {
      log.push(text);
      if (text === 'a1' && log.filter((line) => line === 'a1').length === 1) throw new Error('locked');
    };
    const hub = await startHub(createOrderChangesHub(apply, options()));
    await hub.emitMany(orderChanged, ['a1', 'a2', 'a3', 'b1', 'b2'].map(change));
    await vi.waitFor(() => expect(log).toHaveLength(6));
    expect(log.filter((line) => line.startsWith('a'))).toEqual(['a1', 'a1', 'a2', 'a3']);
    expect(log.indexOf('b1')).toBeLessThan(log.indexOf('a2'));
  });

  test('runs one change per customer at once, and customers side by side', async () => {
    const active: string[] = [];
    const release: (() => void)[] = [];
    const most = { perCustomer: 0, customers: 0 };
    const apply = async (customerId: string): Promise<void> => {
      active.push(customerId);
      most.perCustomer = Math.max(most.perCustomer, active.filter((id) => id === customerId).length);
      most.customers = Math.max(most.customers, active.length);
      await new Promise<void>((resolve) => release.push(resolve));
      active.splice(active.indexOf(customerId), 1);
    };
    const hub = await startHub(createOrderChangesHub(apply, options()));
    await hub.emitMany(orderChanged, ['a1', 'a2', 'b1', 'b2', 'c1', 'c2'].map(change));
    // The first change of each customer waits for the others' first change.
    for (const total of [3, 6]) {
      await vi.waitFor(() => expect(release).toHaveLength(total));
      for (const next of release.slice(total - 3)) next();
    }
    await vi.waitFor(async () => expect(await hub.metrics('order.changed')).toMatchObject({ completed: 6 }));
    expect(most).toEqual({ perCustomer: 1, customers: 3 });
  });
});
