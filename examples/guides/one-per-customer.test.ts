import { describe, expect, test } from 'vitest';
import { eventually } from '../testing/eventually.js';
import { everyTransport } from '../testing/every-transport.js';
import { startHub } from '../testing/start-hub.js';
import { createOrderChangesHub, orderChanged, reportRequested, searchChanged } from './one-per-customer.js';

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
    await eventually(() => expect(log).toHaveLength(6));
    expect(log.filter((line) => line.startsWith('a'))).toEqual(['a1', 'a1', 'a2', 'a3']);
    expect(log.indexOf('b1')).toBeLessThan(log.indexOf('a2'));
  });

  test('skips a report of a customer while another one is pending', async () => {
    const release: (() => void)[] = [];
    const hub = await startHub(
      createOrderChangesHub(() => new Promise<void>((resolve) => release.push(resolve)), options()),
    );
    const { id } = await hub.emit(reportRequested, { customerId: 'a' });
    await eventually(() => expect(release).toHaveLength(1));
    expect(await hub.emit(reportRequested, { customerId: 'a' })).toEqual({ id, deduplicated: true });
    expect(await hub.emit(reportRequested, { customerId: 'b' })).toMatchObject({ deduplicated: false });
    await eventually(() => expect(release).toHaveLength(2));
    for (const next of release) next();
    await eventually(async () => expect(await hub.metrics('report.requested')).toMatchObject({ pending: 0 }));
    expect(await hub.emit(reportRequested, { customerId: 'a' })).toMatchObject({ deduplicated: false });
    await eventually(() => expect(release).toHaveLength(3));
    release[2]?.();
  });

  test('replaces a search of a customer, and begins the newest one when the handler has returned', async () => {
    const log: string[] = [];
    const release: (() => void)[] = [];
    const apply = (_customerId: string, text: string): Promise<void> => {
      log.push(text);
      return new Promise<void>((resolve) => release.push(resolve));
    };
    const hub = await startHub(createOrderChangesHub(apply, options()));
    const { id } = await hub.emit(searchChanged, { customerId: 'a', text: 'r' });
    await eventually(() => expect(release).toHaveLength(1));
    await hub.emit(searchChanged, { customerId: 'a', text: 're' });
    await hub.emit(searchChanged, { customerId: 'a', text: 'red' });
    expect(await hub.find(id)).toMatchObject([{ status: 'cancelled', error: { name: 'CancelledError' } }]);
    expect(log).toEqual(['search for r']);
    release[0]?.();
    await eventually(() => expect(log).toEqual(['search for r', 'search for red']));
    release[1]?.();
    await eventually(async () => {
      expect(await hub.metrics('search.changed')).toMatchObject({ completed: 1, cancelled: 2, pending: 0 });
    });
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
      await eventually(() => expect(release).toHaveLength(total));
      for (const next of release.slice(total - 3)) next();
    }
    await eventually(async () => expect(await hub.metrics('order.changed')).toMatchObject({ completed: 6 }));
    expect(most).toEqual({ perCustomer: 1, customers: 3 });
  });
});
