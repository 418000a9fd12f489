import { expect, it } from 'vitest';
import { createFakeClock } from '../../testing/fake-clock.js';
import { envelope } from '../contract/envelope.js';
import { failed } from '../contract/outcome.js';
import type { Delivery, Envelope } from '../delivery.js';
import { memoryTransport } from '../memory/memory-transport.js';
import { silentLogger, type TransportManager } from '../transport.js';

const done = { status: 'completed', durationMs: 1, followUps: [] } as const;

async function started() {
  const clock = createFakeClock();
  const transport = memoryTransport({ clock }).connect({ service: 'shop', logger: silentLogger });
  const deliveries: Delivery[] = [];
  const packed = new Set<string>();
  const subscriptions = [{ type: 'a' }, { type: 'run', retainsRuns: true }, { type: 'blocked', concurrency: 1 }];
  await transport.start({ concurrency: 1_000, subscriptions, onDelivery: (delivery) => deliveries.push(delivery) });
  /** Publishes an event that reports its id when it is packed. */
  const publish = (type: string, size = 60): string => {
    const sent: Envelope = envelope(type, { size: () => size, pack: () => packed.add(sent.id) });
    void transport.publish([sent]);
    return sent.id;
  };
  return { clock, transport, deliveries, packed, publish };
}

it.each<[string, number, number]>([
  ['the newest 2,048', 60, 2_048],
  ['the newest 2 MiB', 8_192, 256],
])('packs the payloads of a backlog except %s', async (_, size, count) => {
  const { clock, transport, packed, publish } = await started();
  const sent = Array.from({ length: count + 44 }, () => publish('blocked', size));
  await clock.settle();
  expect([...packed]).toEqual(sent.slice(0, 44));
  await transport.close({ drainMs: 0 });
});

it('packs no payload of a burst of a thousand events that end', async () => {
  const { clock, transport, deliveries, packed, publish } = await started();
  for (let burst = 0; burst < 10; burst += 1) {
    for (let index = 0; index < 1_000; index += 1) publish('a');
    await clock.settle();
    for (const delivery of deliveries.splice(0)) await delivery.commit(done);
  }
  expect(packed.size).toBe(0);
  await transport.close({ drainMs: 0 });
});

it('never packs the payload of an event that completes soon', async () => {
  const { clock, transport, deliveries, packed, publish } = await started();
  for (let index = 0; index < 1_000; index += 1) {
    publish('a');
    await clock.settle();
    await deliveries.pop()?.commit(done);
  }
  expect(packed.size).toBe(0);
  await transport.close({ drainMs: 0 });
});

it.each<[string, string, (delivery: Delivery, transport: TransportManager) => unknown]>([
  ['a dead letter', 'a', (delivery) => delivery.commit(failed('Error'))],
  ['a completed run', 'run', (delivery) => delivery.commit({ ...done, result: '1' })],
  ['a failed run', 'run', (delivery) => delivery.commit(failed('Error'))],
])('packs the payload of %s', async (_, type, end) => {
  const { clock, transport, deliveries, packed, publish } = await started();
  const id = publish(type);
  await clock.settle();
  for (const delivery of deliveries) await end(delivery, transport);
  expect([...packed]).toEqual([id]);
  await transport.close({ drainMs: 0 });
});
