import { expect, it, onTestFinished } from 'vitest';
import { createFakeClock } from '../../../testing/fake-clock.js';
import { envelope } from '../../contract/envelope.js';
import { completed } from '../../contract/outcome.js';
import type { Delivery, Envelope } from '../../delivery.js';
import { silentLogger } from '../../transport.js';
import { noLimits, openStore } from '../sqlite-store.js';
import { newFile, openBeside } from '../stage.fixture.js';

it('reads no more than it starts of many keys that have no room in memory', async () => {
  const clock = createFakeClock();
  const settings = { ...noLimits, clock, file: newFile(), synchronous: 'normal', codec: undefined } as const;
  const store = await openStore({ ...settings, maxPendingInMemory: 10 }, silentLogger);
  onTestFinished(() => store.close());
  const [manager, inMemory] = [store.connect('shop'), () => store.broker.journal.spill?.inMemory];
  const deliveries: Delivery[] = [];
  const sent = Array.from({ length: 1_600 }, (_, index) => envelope('a', { key: `${index % 100}` }));
  const subscriptions = [{ type: 'a', perKey: { concurrency: 1 } }];
  const start = () => manager.start({ concurrency: 100, subscriptions, onDelivery: (each) => deliveries.push(each) });
  await start();
  await manager.publish(sent);
  await clock.settle();
  expect(deliveries).toHaveLength(100);
  expect(inMemory()).toBeLessThanOrEqual(120);
  for (let ended = 0; ended < sent.length; ended += 1) {
    await deliveries[ended]?.commit(completed());
    if (ended % 100 === 0) expect(inMemory()).toBeLessThanOrEqual(120);
  }
  const started = deliveries.map((delivery) => delivery.envelope);
  const idsOf = (all: readonly Envelope[], key: string) => all.filter((each) => each.key === key).map(({ id }) => id);
  for (const key of ['0', '57', '99']) expect(idsOf(started, key)).toEqual(idsOf(sent, key));
  await manager.close({ drainMs: 0 });
});

it('starts an event that leaves memory when a file is opened, although later ones were read', async () => {
  const clock = createFakeClock();
  const settings = { ...noLimits, clock, file: newFile(), synchronous: 'normal', codec: undefined } as const;
  const subscriptions = [{ type: 'other' }, { type: 'a', perKey: { concurrency: 1 } }];
  const first = await openStore(settings, silentLogger);
  const former = first.connect('shop');
  await former.start({ concurrency: 1, subscriptions, onDelivery() {} });
  const sent = [1, 2, 3, 4].map(() => envelope('a', { key: 'k' }));
  await former.publish([envelope('other'), envelope('other'), ...sent]);
  await former.close({ drainMs: 0 });
  await first.close();
  // The first and the third are in the file alone, and the last one has started.
  const beside = await openBeside(settings.file);
  const ids = (indices: readonly number[]) => indices.map((index) => `'${sent[index]?.id}'`).join();
  beside.exec(`
    INSERT INTO spilled_events (position, queue, state, attempt, accepted_at, priority, id, envelope, body, turn, key, bytes, request_id)
    SELECT position, queue, state, attempt, accepted_at, priority, id, envelope, body, position, 'k', 2, 'r'
    FROM events WHERE id IN (${ids([0, 2])});
    DELETE FROM events WHERE id IN (${ids([0, 2])});
    UPDATE events SET state = 3 WHERE id = ${ids([3])};
  `);
  const store = await openStore({ ...settings, maxPendingInMemory: 1 }, silentLogger);
  onTestFinished(() => store.close());
  const manager = store.connect('shop');
  const deliveries: Delivery[] = [];
  await manager.start({ concurrency: 10, subscriptions, onDelivery: (each) => deliveries.push(each) });
  await clock.settle();
  for (let ended = 0; ended < 6; ended += 1) {
    await deliveries[ended]?.commit(completed());
    await clock.settle();
  }
  const started = deliveries.filter((delivery) => delivery.envelope.type === 'a');
  expect(new Set(started.map((delivery) => delivery.envelope.id))).toEqual(new Set(sent.map(({ id }) => id)));
  expect(await manager.counts.get(['a'])).toMatchObject([{ total: { completed: 4, pending: 0 } }]);
});
