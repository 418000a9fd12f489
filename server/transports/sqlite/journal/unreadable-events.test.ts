import { expect, it, onTestFinished } from 'vitest';
import { createFakeClock } from '../../../testing/fake-clock.js';
import { envelope } from '../../contract/envelope.js';
import { completed } from '../../contract/outcome.js';
import type { Delivery, Subscription } from '../../delivery.js';
import { type Logger, silentLogger } from '../../transport.js';
import { sqliteTransport } from '../sqlite-transport.js';
import { newFile, openBeside } from '../stage.fixture.js';

/** Starts a service with one event in memory, and the others in the file alone. */
async function startTight(subscriptions: readonly Subscription[]) {
  const [file, clock] = [newFile(), createFakeClock()];
  const lines: object[] = [];
  const add = (level: string) => (fields: object, message: string) => void lines.push({ level, message, ...fields });
  const logger: Logger = { ...silentLogger, info: add('info'), warn: add('warn'), error: add('error') };
  const shared = sqliteTransport({ file, clock, maxPendingInMemory: 1 });
  const deliveries: Delivery[] = [];
  /** Starts another process of the service. */
  const start = async (all: readonly Subscription[]) => {
    const transport = shared.connect({ service: 'shop', logger });
    onTestFinished(() => void transport.close({ drainMs: 0 }));
    await transport.start({ concurrency: 1, subscriptions: all, onDelivery: (each) => deliveries.push(each) });
    return transport;
  };
  const transport = await start(subscriptions);
  return { transport, clock, lines, deliveries, start, beside: await openBeside(file) };
}

it.each([
  ['waits', { type: 'bad' }, 0],
  ['waits for its key', { type: 'bad', perKey: { concurrency: 1 } }, 0],
  ['is delayed', { type: 'bad' }, 10],
])('stops the type alone of a damaged event that %s', async (_, bad, delayMs) => {
  const { transport, clock, lines, deliveries, beside } = await startTight([bad, { type: 'good' }]);
  await transport.publish(
    ['a', 'b', 'c', 'c'].map((key) => envelope('bad', { key, delayMs: key === 'a' ? 0 : delayMs })),
  );
  await transport.publish([envelope('good')]);
  await clock.settle();
  const { position } = beside.prepare('SELECT min(position) AS position FROM spilled_events').get() ?? {};
  beside.exec(`UPDATE spilled_events SET envelope = '{' WHERE position = ${Number(position)}`);
  for (let count = 1; count <= 3; count += 1) {
    await deliveries[count - 1]?.commit(completed());
    await transport.publish([envelope('good')]);
    await clock.advance(1_000);
    expect(deliveries[count]?.envelope.type).toBe('good');
  }
  const message = expect.stringContaining('damaged');
  const file = expect.any(String);
  expect(lines).toEqual([{ level: 'error', message, file, service: 'shop', eventType: 'bad', position }]);
  expect(await transport.counts.get(['bad'])).toMatchObject([{ total: { completed: 1, pending: 3 } }]);
  await expect(transport.lookup.recent('bad')).rejects.toMatchObject({ code: 'ERR_CORRUPT_FILE' });
  await deliveries[3]?.commit(completed());
  await deliveries[4]?.commit(completed());
  // Nothing of the type can be drained.
  expect(await transport.close({ drainMs: 60_000 })).toMatchObject({ released: 0 });
});

it('reads less and less often while events cannot be read', async () => {
  const { transport, clock, lines, deliveries, beside } = await startTight([{ type: 'a' }]);
  await transport.publish(Array.from({ length: 3 }, () => envelope('a')));
  await clock.settle();
  beside.exec('ALTER TABLE spilled_events RENAME TO elsewhere');
  void deliveries[0]?.commit(completed());
  const file = expect.any(String);
  await clock.advance(60_000);
  const failed = { level: 'error', message: 'the file cannot be read', file, reason: expect.any(String) };
  expect(lines).toEqual([failed]);
  await expect(transport.lookup.recent('a')).rejects.toThrow('cannot be read');
  beside.exec('ALTER TABLE elsewhere RENAME TO spilled_events');
  await clock.advance(1_000);
  expect(deliveries).toHaveLength(1);
  await clock.advance(10_000);
  expect(deliveries).toHaveLength(2);
  expect(lines).toEqual([failed, { level: 'info', message: 'the file can be read again', file }]);
});

it('does not end a drain while due events cannot be read', async () => {
  const { transport, clock, deliveries, beside } = await startTight([{ type: 'a' }]);
  await transport.publish([0, 10, 10, 10].map((delayMs) => envelope('a', { delayMs })));
  await clock.settle();
  await deliveries[0]?.commit(completed());
  const closed = transport.close({ drainMs: 60_000 });
  beside.exec('ALTER TABLE spilled_events RENAME TO elsewhere');
  await clock.advance(1_000);
  expect(deliveries).toHaveLength(1);
  beside.exec('ALTER TABLE elsewhere RENAME TO spilled_events');
  for (let count = 2; count <= 4; count += 1) {
    await clock.advance(5_000);
    expect(deliveries).toHaveLength(count);
    await deliveries[count - 1]?.commit(completed());
  }
  await clock.settle();
  expect(await closed).toEqual({ released: 0, overdue: 0 });
});

it('loses no event if the keys of a type cannot be read', async () => {
  const { transport, clock, deliveries, start, beside } = await startTight([{ type: 'a' }]);
  const sent = Array.from({ length: 5 }, () => envelope('a', { key: 'k' }));
  await transport.publish(sent);
  await clock.settle();
  beside.exec('ALTER TABLE spilled_events RENAME TO elsewhere');
  await expect(start([{ type: 'a', perKey: { concurrency: 1 } }])).rejects.toThrow();
  beside.exec('ALTER TABLE elsewhere RENAME TO spilled_events');
  for (let count = 1; count <= sent.length; count += 1) {
    await clock.advance(20_000);
    await deliveries[count - 1]?.commit(completed());
  }
  expect(deliveries.map((delivery) => delivery.envelope.id)).toEqual(sent.map(({ id }) => id));
});
