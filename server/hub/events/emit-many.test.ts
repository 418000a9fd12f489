import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Envelope } from '../../transports/delivery.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import type { Transport } from '../../transports/transport.js';
import { testHub } from '../hub.fixture.js';

/** A transport that records the size of each publish and refuses those from the `failAt`th on. */
function recordingTransport(batches: number[], failAt = Number.POSITIVE_INFINITY): Transport {
  const inner = memoryTransport();
  return {
    connect(options) {
      const manager = inner.connect(options);
      const publish = manager.publish.bind(manager);
      manager.publish = async (envelopes: readonly Envelope[]) => {
        if (batches.length + 1 >= failAt) throw new Error('no more');
        batches.push(envelopes.length);
        return publish(envelopes);
      };
      return manager;
    },
  };
}

describe('emitMany', () => {
  it('emits all payloads in order, each as a request of its own unless one is given', async () => {
    const { hub, clock } = testHub();
    const seen: unknown[] = [];
    const requestIds: string[] = [];
    const counted = hub.event<number>({
      type: 'counted',
      concurrency: 1,
      handler: ({ payload, requestId }) => {
        seen.push(payload);
        requestIds.push(requestId);
      },
    });
    await hub.start();
    const receipts = await hub.emitMany(counted, [1, 2, 3]);
    expect(new Set(receipts.map(({ id }) => id)).size).toBe(3);
    await clock.settle();
    expect(seen).toEqual([1, 2, 3]);
    expect(requestIds).toEqual(receipts.map(({ id }) => id));
    await hub.emitMany(counted, [4, 5], { requestId: 'import-7' });
    await clock.settle();
    expect(requestIds.slice(3)).toEqual(['import-7', 'import-7']);
    expect(await hub.emitMany(counted, [])).toEqual([]);
  });

  it('applies its options to each event', async () => {
    const { hub, clock } = testHub();
    const seen: unknown[] = [];
    const counted = hub.event<number>({ type: 'counted', handler: ({ payload }) => void seen.push(payload) });
    await hub.start();
    const options = { delayMs: 100, dedupeId: (payload: number) => `n-${payload % 2}` };
    const receipts = await hub.emitMany(counted, [1, 2, 3], options);
    expect(receipts.map(({ deduplicated }) => deduplicated)).toEqual([false, false, true]);
    await clock.advance(99);
    expect(seen).toEqual([]);
    await clock.advance(1);
    expect(seen).toEqual([1, 2]);
  });

  it('accepts none if one payload is invalid or there is no room', async () => {
    const { hub } = testHub({ maxPending: 2 });
    const mailed = hub.event({ type: 'mailed', schema: z.object({ to: z.email() }), handler: () => {} });
    await hub.start();
    const payloads = ['a@b.no', 'nobody'].map((to) => ({ to }));
    await expect(hub.emitMany(mailed, payloads)).rejects.toMatchObject({ code: 'ERR_SCHEMA_VALIDATION' });
    const many = Array.from({ length: 3 }, () => ({ to: 'a@b.no' }));
    await expect(hub.emitMany(mailed, many)).rejects.toMatchObject({ code: 'ERR_BACKPRESSURE' });
    expect(await hub.metrics('mailed')).toMatchObject({ received: 0 });
  });

  it.each([
    ['1,000 events', Array.from({ length: 2_500 }, () => ''), [1_000, 1_000, 500]],
    ['4 MiB', Array.from({ length: 20 }, () => 'x'.repeat(500_000)), [8, 8, 4]],
  ])('cuts batches at %s', async (_, payloads, expected) => {
    const batches: number[] = [];
    const { hub } = testHub({ transport: recordingTransport(batches) });
    hub.event({ type: 'a' });
    await hub.start();
    expect(await hub.emitMany('a', payloads)).toHaveLength(payloads.length);
    expect(batches).toEqual(expected);
  });

  it('says how many were accepted if a later batch fails', async () => {
    const { hub } = testHub({ transport: recordingTransport([], 3) });
    hub.event({ type: 'a' });
    await hub.start();
    const payloads = Array.from({ length: 2_500 }, () => null);
    await expect(hub.emitMany('a', payloads)).rejects.toMatchObject({
      code: 'ERR_PARTIAL_EMIT',
      accepted: 2_000,
      cause: expect.objectContaining({ message: 'no more' }),
    });
  });

  it.each<[string, unknown, object | undefined]>([
    ['payloads of emitMany must be an array', 'ab', undefined],
    ['dedupeId of emitMany must be a function', [1], { dedupeId: 'x' }],
    ['dedupeId of emit must be a string', [1], { dedupeId: () => '' }],
    ['option of emitMany must be one of', [1], { delay: 5 }],
    ['delayMs of emit must be milliseconds', [1], { delayMs: -1 }],
  ])('rejects: %s', async (message, payloads, options) => {
    const { hub } = testHub();
    hub.event({ type: 'a' });
    await hub.start();
    // Wrong on purpose: what the compiler would not let through.
    await expect(hub.emitMany('a', payloads as unknown[], options as never)).rejects.toThrow(message);
  });

  it('rejects before start', async () => {
    const { hub } = testHub();
    hub.event({ type: 'a' });
    await expect(hub.emitMany('a', [1])).rejects.toMatchObject({ code: 'ERR_HUB_NOT_STARTED' });
  });
});
