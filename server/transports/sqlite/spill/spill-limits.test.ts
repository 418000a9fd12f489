import { expect, it, onTestFinished } from 'vitest';
import { createFakeClock } from '../../../testing/fake-clock.js';
import { envelope } from '../../contract/envelope.js';
import { completed } from '../../contract/outcome.js';
import { silentLogger } from '../../logger.js';
import type { Delivery, Envelope } from '../../transport.js';
import { noLimits, openStore } from '../sqlite-store.js';
import { newFile } from '../stage.fixture.js';

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
