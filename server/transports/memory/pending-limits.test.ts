import { expect, it } from 'vitest';
import { InvalidOptionError } from '../../errors.js';
import { createFakeClock } from '../../testing/fake-clock.js';
import { envelope } from '../contract/envelope.js';
import { BackpressureError } from '../errors.js';
import { silentLogger, type TransportManager } from '../transport.js';
import { memoryTransport } from './memory-transport.js';
import { started } from './started-transport.fixture.js';

const done = { status: 'completed', durationMs: 1, followUps: [] } as const;

async function received(transport: TransportManager, type: string): Promise<number> {
  return (await transport.counts.metrics(type)).received;
}

it('accepts all envelopes of a call or none if they exceed maxPending', async () => {
  const { clock, transport, deliveries } = await started({ maxPending: 2 }, ['a']);
  expect(() => transport.publish([envelope('a'), envelope('a'), envelope('a')])).toThrow(BackpressureError);
  expect(await received(transport, 'a')).toBe(0);
  await transport.publish([envelope('a'), envelope('a')]);
  expect(() => transport.publish([envelope('a')])).toThrow('pending events reached maxPending (2)');
  await clock.settle();
  await deliveries[0]?.commit(done);
  await transport.publish([envelope('a')]);
  expect(await received(transport, 'a')).toBe(3);
});

it('accepts follow-ups past maxPending: the outcome is already recorded', async () => {
  const { clock, transport, deliveries } = await started({ maxPending: 1 }, ['a', 'b']);
  await transport.publish([envelope('a')]);
  await clock.settle();
  await deliveries[0]?.commit({ ...done, followUps: [envelope('b'), envelope('b')] });
  expect(await received(transport, 'b')).toBe(2);
});

it.each([0, -1, 1.5, Number.NaN, '5' as never])('refuses maxPending %j', (maxPending) => {
  expect(() => memoryTransport({ maxPending })).toThrow(InvalidOptionError);
});

it('accepts all envelopes of a call or none if they exceed maxPendingBytes', async () => {
  const { clock, transport, deliveries } = await started({ maxPendingBytes: 20 }, ['a']);
  const body = (size: number): string => JSON.stringify('x'.repeat(size - 2));
  const large = [envelope('a', { body: body(15) }), envelope('a', { body: '"éé"' })];
  expect(() => transport.publish(large)).toThrow('payloads of pending events reached maxPendingBytes (20)');
  expect(await received(transport, 'a')).toBe(0);
  await transport.publish([envelope('a', { body: body(15) }), envelope('a', { body: '"x"' })]);
  expect(() => transport.publish([envelope('a', { body: '"x"' })])).toThrow(BackpressureError);
  await clock.settle();
  for (const delivery of deliveries) await delivery.commit(done);
  await transport.publish([envelope('a', { body: body(20) })]);
  expect(await received(transport, 'a')).toBe(3);
});

it('counts the bytes of a debounced payload once, at its present size', async () => {
  const clock = createFakeClock();
  const transport = memoryTransport({ clock, maxPendingBytes: 10 }).connect({ service: 'shop', logger: silentLogger });
  const subscriptions = [{ type: 'a', debounce: { ms: 100 } }, { type: 'b' }];
  await transport.start({ concurrency: 100, subscriptions, onDelivery: () => {} });
  for (const body of ['"12345"', '"12"', '"123"']) await transport.publish([envelope('a', { body })]);
  await transport.publish([envelope('b', { body: '"123"' })]);
  expect(() => transport.publish([envelope('b', { body: '1' })])).toThrow(BackpressureError);
  await transport.close({ drainMs: 0 });
});
