import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { InvalidOptionError } from './errors.js';
import { createHub } from './hub/create-hub.js';
import { testHub } from './hub/hub.fixture.js';
import type { Hub } from './hub/hub.js';
import type { HubOptions } from './hub/hub-options.js';
import { createWorkflow } from './hub/runs/workflow.js';
import { prometheus } from './prometheus.js';
import { parseExposition } from './testing/exposition.fixture.js';
import { newStoreFile, redisUrl } from './testing/stores.fixture.js';
import { memoryTransport } from './transports/memory/memory-transport.js';
import { redisTransport } from './transports/redis/redis-transport.js';
import { type SqliteTransport, sqliteObserver } from './transports/sqlite/index.js';
import { sqliteTransport } from './transports/sqlite/sqlite-transport.js';
import type { Transport } from './transports/transport.js';

type Retire = SqliteTransport['retire'];

it('reports each count of each type, whatever its name', async () => {
  const { hub, clock } = testHub({ service: 'a"b\\c\u2028d' });
  const hostile = '}\\" 1 {name="x",} # TYPE 日本 \\n';
  hub.event<string>({
    type: hostile,
    retry: { maxAttempts: 2, initialDelayMs: 1_000, jitter: false },
    concurrency: 1,
    async handler({ payload }) {
      await clock.advance(30);
      if (payload === 'bad') throw new Error('no');
    },
  });
  hub.event({ type: '__proto__', handler: () => {} });
  hub.workflow(createWorkflow({ name: '__proto__', run: ({ step }) => step.sleep('rest', 3_600_000) }));
  await hub.start();
  const metrics = prometheus(hub);
  expect(metrics.contentType).toBe('text/plain; version=0.0.4; charset=utf-8');
  const read = async () => parseExposition(await metrics.read());
  const names = (kind: string, name: string) => ({ service: hub.service, kind, name });
  const event = names('event', hostile);

  await hub.emit(hostile, 'good', { dedupeId: 'once' });
  await hub.emit(hostile, 'good', { dedupeId: 'once' });
  await hub.emit(hostile, 'bad');
  await vi.waitFor(async () => expect((await read()).value('hubline_retried_total', event)).toBe(1));
  await clock.advance(5_000);
  await vi.waitFor(async () => expect((await read()).value('hubline_failed_total', event)).toBe(1));
  const later = await hub.emit(hostile, 'good', { delayMs: 10_000 });
  await hub.cancel(later.id);
  await hub.emit(hostile, 'good', { delayMs: 100_000 });
  await hub.startWorkflow('__proto__', null);
  const run = names('workflow', '__proto__');
  await vi.waitFor(async () => expect((await read()).value('hubline_suspended', run)).toBe(1));
  await clock.advance(90_000);

  const { types, value, samples } = await read();
  const counts = Object.fromEntries(
    ['received', 'completed', 'failed', 'cancelled', 'retried', 'deduplicated'].map((name) => {
      expect(types.get(`hubline_${name}_total`)).toBe('counter');
      return [name, value(`hubline_${name}_total`, event)];
    }),
  );
  expect(counts).toEqual({ received: 4, completed: 1, failed: 2, cancelled: 1, retried: 1, deduplicated: 1 });
  const gauges = ['pending', 'active', 'delayed', 'suspended', 'oldest_pending_seconds', 'dead_letters'];
  expect(gauges.map((name) => types.get(`hubline_${name}`))).toEqual(gauges.map(() => 'gauge'));
  expect(gauges.map((name) => value(`hubline_${name}`, event))).toEqual([1, 0, 1, 0, 90, 1]);
  expect(gauges.map((name) => value(`hubline_${name}`, run))).toEqual([1, 0, 0, 1, expect.any(Number), 0]);
  expect(value('hubline_received_total', names('event', '__proto__'))).toBe(0);
  expect(value('hubline_oldest_pending_seconds', names('event', '__proto__'))).toBe(0);
  expect(value('hubline_processes')).toBe(1);
  expect(value('hubline_omitted_names')).toBe(0);
  expect(samples.find(({ name }) => name === 'hubline_info')?.labels).toMatchObject({ transport: 'memory' });

  const durations = { kind: 'event', name: hostile };
  const upTo = (le: string) => value('hubline_run_seconds_bucket', { ...durations, le });
  expect([upTo('0.025'), upTo('0.05'), upTo('+Inf')]).toEqual([0, 3, 3]);
  expect(Math.abs((value('hubline_run_seconds_sum', durations) ?? 0) / 0.09 - 1)).toBeLessThan(0.1);
  expect(value('hubline_wait_seconds_count', durations)).toBe(2);
});

it('keeps the names that it selected first, up to maxNames', async () => {
  const transport = memoryTransport();
  const open = async (service: string, types: readonly string[]): Promise<Hub> => {
    const hub = createHub({ service, transport });
    onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
    for (const type of types) hub.event({ type, handler: () => {} });
    await hub.start();
    return hub;
  };
  const hub = await open('b', ['m', 'n']);
  const metrics = prometheus(hub, { maxNames: 3 });
  const read = async () => {
    const { samples, value } = parseExposition(await metrics.read());
    const names = samples.filter(({ name }) => name === 'hubline_pending').map(({ labels }) => labels['name']);
    return [names.sort().join(), value('hubline_omitted_names')];
  };
  expect(await read()).toEqual(['m,n', 0]);
  await open('a', ['a', 'b', 'c', 'd']);
  const [names, omitted] = await read();
  expect([names, omitted]).toEqual([expect.stringMatching(/^[abcd],m,n$/), 3]);
  expect(await read()).toEqual([names, omitted]);
});

it('never decreases a counter or a bucket on Redis while processes come and go, and is read from an observer', async () => {
  const prefix = randomUUID();
  const open = async (options: HubOptions): Promise<Hub> => {
    const hub = createHub({
      ...options,
      transport: redisTransport({ url: redisUrl(), prefix, emitTimeoutMs: 60_000 }),
    });
    onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
    if (options.observer !== true) {
      hub.event<boolean>({
        type: 'sent',
        handler({ payload }) {
          if (!payload) throw new Error('no');
        },
      });
    }
    await hub.start();
    return hub;
  };
  const observer = await open({ observer: true, service: 'watch' });
  const metrics = prometheus(observer);
  const series = async () => {
    const { types, samples } = parseExposition(await metrics.read());
    return new Map(
      samples
        .filter(({ name }) => types.get(name) === 'counter' || /_(bucket|sum|count)$/.test(name))
        .map(({ name, labels, value }) => [JSON.stringify([name, labels]), value]),
    );
  };
  const totals: number[] = [];
  let before = new Map<string, number>();
  for (let round = 1; round <= 3; round += 1) {
    const hubs = [await open({ service: 'mail' }), await open({ service: 'mail' }), await open({ service: 'shop' })];
    await hubs[0]?.emitMany('sent', [true, true, false]);
    await vi.waitFor(async () => {
      const [counts] = await observer.transport.counts.get(['sent']);
      expect(counts?.total).toMatchObject({ received: 6 * round, pending: 0 });
    });
    const parsed = parseExposition(await metrics.read());
    expect([parsed.value('hubline_processes', { service: 'mail' }), parsed.value('hubline_run_seconds_count')]).toEqual(
      [2, 6 * round],
    );
    const now = await series();
    for (const [key, value] of before) expect([key, (now.get(key) ?? -1) >= value]).toEqual([key, true]);
    before = now;
    totals.push(parsed.value('hubline_failed_total', { service: 'mail' }) ?? 0);
    await Promise.all(hubs.map((hub) => hub.stop()));
  }
  expect(totals).toEqual([1, 2, 3]);
});

describe.each<[string, () => () => Transport & { retire?: Retire }]>([
  [
    'memory',
    () => {
      const transport = memoryTransport();
      return () => transport;
    },
  ],
  [
    'SQLite',
    () => {
      const file = newStoreFile();
      return () => sqliteTransport({ file });
    },
  ],
  [
    'Redis',
    () => {
      const prefix = randomUUID();
      return () => redisTransport({ url: redisUrl(), prefix, emitTimeoutMs: 60_000 });
    },
  ],
])('on %s', (name, createStore) => {
  it('no counter decreases, whatever is replayed, cancelled, retired and restarted', async () => {
    const connect = createStore();
    let isUp = false;
    const flow = createWorkflow({ name: 'flow', run: ({ step }) => step.sleep('rest', 3_600_000) });
    const open = async (service: string, transport: Transport): Promise<Hub> => {
      const hub = createHub({ service, transport });
      onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
      const handler = (): void => {
        if (!isUp) throw new Error('no');
      };
      hub.event({ type: 'sent', handler, retry: { maxAttempts: 2, initialDelayMs: 0 } });
      hub.workflow(flow);
      await hub.start();
      return hub;
    };
    const before = new Map<string, number>();
    const step = async (hub: Hub, act: () => unknown): Promise<void> => {
      await act();
      await vi.waitFor(async () => expect(await hub.metrics('sent')).toMatchObject({ active: 0, pending: 0 }));
      const { types, samples } = parseExposition(await prometheus(hub).read());
      const counters = samples.filter((sample) => types.get(sample.name) === 'counter');
      const now = new Map(counters.map(({ name: metric, labels, value }) => [JSON.stringify([metric, labels]), value]));
      for (const [key, value] of before) expect([key, (now.get(key) ?? -1) >= value]).toEqual([key, true]);
      for (const [key, value] of now) before.set(key, value);
    };
    let transport = connect();
    let shop = await open('shop', transport);
    const mail = await open('mail', transport);
    let id = '';
    await step(shop, async () => {
      ({ id } = await shop.emit('sent', 1));
    });
    await vi.waitFor(async () => expect(await mail.metrics('sent')).toMatchObject({ deadLetters: 2 }));
    await step(shop, () => shop.replay(id));
    isUp = true;
    await step(shop, () => shop.replay(id));
    await step(shop, async () => {
      await shop.emit('sent', 2, { dedupeId: 'once' });
      await shop.emit('sent', 2, { dedupeId: 'once' });
      const delayed = await shop.emit('sent', 3, { delayMs: 3_600_000 });
      // It ends in both services.
      expect([await shop.cancel(delayed.id), await mail.cancel(delayed.id)]).toEqual([true, false]);
      await (await shop.startWorkflow(flow, null)).cancel();
    });
    await mail.stop();
    await step(shop, async () => transport.retire?.('mail', { discard: true }));
    await shop.stop();
    transport = name === 'memory' ? transport : connect();
    shop = await open('shop', transport);
    await step(shop, () => {});
    const sums = new Map<string, number>();
    for (const [key, value] of before) {
      const [metric, { service }] = JSON.parse(key) as [string, { service: string }];
      if (service === 'shop') sums.set(metric, (sums.get(metric) ?? 0) + value);
    }
    expect(Object.fromEntries(sums)).toEqual({
      hubline_received_total: 6,
      hubline_completed_total: 2,
      hubline_filtered_total: 0,
      hubline_failed_total: 4,
      hubline_cancelled_total: 2,
      hubline_retried_total: 2,
      hubline_deduplicated_total: 1,
    });
  });
});

it('counts no process of a file that nobody owns', async () => {
  const file = newStoreFile();
  const hub = createHub({ service: 'shop', transport: sqliteTransport({ file }) });
  hub.event({ type: 'sent', handler: () => {} });
  await hub.start();
  const observer = createHub({ observer: true, transport: sqliteObserver({ file }) });
  onTestFinished(async () => void (await observer.stop({ drainMs: 0 })));
  await observer.start();
  const read = async () => parseExposition(await prometheus(observer).read());
  expect((await read()).value('hubline_processes', { service: 'shop' })).toBe(1);
  await hub.stop();
  const after = await read();
  expect(after.value('hubline_processes', { service: 'shop' })).toBeUndefined();
  expect(after.value('hubline_received_total', { service: 'shop' })).toBe(0);
});

it('rejects if the transport cannot be read', async () => {
  const hub = createHub({ transport: sqliteTransport({ file: join(import.meta.dirname, 'missing', 'hub.db') }) });
  await expect(prometheus(hub).read()).rejects.toThrow('missing');
  await hub.stop({ drainMs: 0 });
});

it('refuses wrong arguments', () => {
  const { hub } = testHub();
  // @ts-expect-error not a hub
  expect(() => prometheus({})).toThrow(InvalidOptionError);
  expect(() => prometheus(hub, { maxNames: 0 })).toThrow('maxNames');
  // @ts-expect-error no such option
  expect(() => prometheus(hub, { names: 1 })).toThrow(InvalidOptionError);
});
