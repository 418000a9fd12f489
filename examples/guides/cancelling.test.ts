import { memoryTransport, WorkflowFailedError } from 'hubline';
import { createFakeClock } from 'hubline/testing';
import { describe, expect, test } from 'vitest';
import { eventually } from '../testing/eventually.js';
import { everyTransport } from '../testing/every-transport.js';
import { startHub } from '../testing/start-hub.js';
import { cancelOrder, createBillingHub, planReminder } from './cancelling.js';

describe.each(everyTransport)('on %s', (_name, options) => {
  test('a cancelled reminder counts as cancelled, and leaves no dead letter', async () => {
    const told: string[] = [];
    const hub = await startHub(createBillingHub((text) => told.push(text), options()));
    const cancel = await planReminder(hub, 'I-7');
    expect([await cancel(), await cancel()]).toEqual([true, false]);
    expect(await hub.metrics('reminder.due')).toMatchObject({ received: 1, failed: 1, cancelled: 1, pending: 0 });
    expect(await hub.deadLetters('reminder.due')).toEqual([]);
    expect(told).toEqual([]);
  });

  test('a cancelled handler is aborted, and frees its key', async () => {
    const told: string[] = [];
    const hub = await startHub(createBillingHub((text) => told.push(text), options()));
    const ids: string[] = [];
    for (let n = 0; n < 2; n += 1) ids.push((await hub.emit('statement.requested', { customer: 'ada' })).id);
    const statuses = async () => (await Promise.all(ids.map((id) => hub.find(id)))).flat().map(({ status }) => status);
    await eventually(async () => expect(await statuses()).toEqual(['active', 'waiting']));
    expect(await hub.cancel(ids[0] ?? '')).toBe(true);
    await eventually(async () => expect(await statuses()).toEqual(['cancelled', 'active']));
    expect(await hub.cancel(ids[1] ?? '')).toBe(true);
    expect(await hub.metrics('statement.requested')).toMatchObject({ failed: 2, cancelled: 2, pending: 0 });
    expect(told).toEqual([]);
  });

  test('a cancelled run ends with its child run, and reports the reason', async () => {
    const told: string[] = [];
    const hub = await startHub(createBillingHub((text) => told.push(text), options()));
    const run = await hub.startWorkflow('collect', { order: '7' });
    const ended = expect(run.result()).rejects.toThrow(WorkflowFailedError);
    const suspended = async () => (await hub.introspect()).workflows.map(({ metrics }) => metrics.suspended);
    await eventually(async () => expect(await suspended()).toEqual([1, 1]));
    expect(await cancelOrder(run)).toBe('cancelled');
    await ended;
    await eventually(() => expect(told).toEqual([expect.stringMatching(/^7: .*the customer cancelled the order/)]));
    await eventually(async () => expect(await suspended()).toEqual([0, 0]));
    expect(await cancelOrder(run)).toBe('failed');
    expect(await hub.deadLetters('collect')).toEqual([]);
  });
});

test('a reminder that was sent cannot be cancelled', async () => {
  const clock = createFakeClock();
  const told: string[] = [];
  const hub = await startHub(createBillingHub((text) => told.push(text), { transport: memoryTransport({ clock }) }));
  const cancel = await planReminder(hub, 'I-7');
  await clock.advance(86_400_000);
  expect(told).toEqual(['I-7 is unpaid']);
  expect(await cancel()).toBe(false);
});
