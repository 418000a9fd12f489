import fc from 'fast-check';
import { expect, it } from 'vitest';
import { runs } from '../../../../scripts/property-tests.js';
import { createFakeClock } from '../../../testing/fake-clock.js';
import { envelope } from '../../contract/envelope.js';
import { completed, failed, retry } from '../../contract/outcome.js';
import type { Delivery, Envelope, FailedOutcome, Subscription } from '../../delivery.js';
import { memoryTransport } from '../../memory/memory-transport.js';
import { silentLogger, type Transport, type TransportManager } from '../../transport.js';
import { sqliteObserver } from '../sqlite-observer.js';
import { sqliteTransport } from '../sqlite-transport.js';
import { newFile, openBeside } from '../stage.fixture.js';

const types = ['plain', 'keyed', 'limited'];
// All delays are multiples of it.
const dueEveryMs = 5;
const turnsOfRead = 4;
const cancelled = (): FailedOutcome => ({
  status: 'failed',
  cancelled: true,
  durationMs: 0,
  error: { name: 'CancelledError', message: 'no' },
  followUps: [],
});

/** A service whose deliveries are compared with those of the same service on another transport. */
class Twin {
  readonly clock = createFakeClock();
  // By type and key: the order among types and among keys depends on the time at which an event is read.
  readonly starts = new Map<string, string[]>();
  readonly running: Delivery[] = [];
  readonly #create: (clock: Twin['clock']) => Transport;
  #transport: TransportManager | undefined;

  /** @param create creates the transport of a process */
  constructor(create: (clock: Twin['clock']) => Transport) {
    this.#create = create;
  }

  get transport(): TransportManager {
    if (this.#transport === undefined) throw new Error('not open');
    return this.#transport;
  }

  async open(subscriptions: readonly Subscription[], concurrency: number): Promise<void> {
    this.#transport = this.#create(this.clock).connect({ service: 'shop', logger: silentLogger });
    await this.#transport.start({
      concurrency,
      subscriptions,
      onDelivery: (delivery) => {
        const { id, type, key, body } = delivery.envelope;
        const line = type === 'keyed' ? `keyed ${key ?? id}` : type;
        this.starts.set(line, [...(this.starts.get(line) ?? []), `${id} ${delivery.attempt} ${body}`]);
        this.running.push(delivery);
      },
    });
    await this.settle();
  }

  async close(): Promise<void> {
    await this.#transport?.close({ drainMs: 0 });
    this.running.length = 0;
    this.#transport = undefined;
  }

  /** Ends the delivery of a type with the lowest id. */
  async end(type: string, how: string): Promise<void> {
    const [delivery] = this.running
      .filter(({ envelope: each }) => each.type === type)
      .sort((a, b) => a.envelope.id.localeCompare(b.envelope.id));
    if (delivery === undefined) return;
    this.running.splice(this.running.indexOf(delivery), 1);
    const outcome =
      how === 'completed' ? completed() : how === 'failed' ? failed('no') : retry(how === 'retry' ? 15 : 0);
    await delivery.commit(outcome);
    await this.settle();
  }

  /** Advances the time from one possible due time to the next, and waits until what is due was read. */
  async advance(ms: number): Promise<void> {
    for (let elapsed = 0; elapsed < ms; elapsed += dueEveryMs) {
      await this.clock.advance(dueEveryMs);
      await this.settle();
    }
  }

  /** Waits until the events whose turn it is were read. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < turnsOfRead; turn += 1) await this.clock.settle();
  }

  /** Ends all deliveries until nothing is pending, which takes some turns for events that have to be read. */
  async drain(): Promise<void> {
    for (let round = 0; round < 500; round += 1) {
      for (const type of types) await this.end(type, 'completed');
      await this.advance(dueEveryMs);
      const counts = await this.transport.counts.get(types);
      if (counts.every(({ total }) => total.pending === 0)) return;
    }
  }

  async state(ids: readonly string[]): Promise<object> {
    const { transport } = this;
    const recent = await Promise.all(types.map((type) => transport.lookup.recent(type)));
    const byId = (events: readonly { readonly id: string }[]): object =>
      [...events].sort((a, b) => a.id.localeCompare(b.id));
    return {
      starts: this.starts,
      counts: await transport.counts.get(types),
      recent: recent.map(({ newest, failed: newestFailed }) => [byId(newest), byId(newestFailed)]),
      request: byId((await transport.lookup.request('r')).events),
      found: await Promise.all(ids.map((id) => transport.lookup.find(id, { bodies: true }))),
    };
  }
}

type Step = (twin: Twin, sent: readonly Envelope[]) => Promise<unknown>;

// Each type has its own limits, and each key of `keyed`, so that they do not depend on each other.
const independent: readonly Subscription[] = [
  { type: 'plain', concurrency: 2 },
  { type: 'keyed', perKey: { concurrency: 1 } },
  { type: 'limited', concurrency: 1 },
];

const subscriptions = (isKeyed: boolean): readonly Subscription[] => [
  { type: 'plain', concurrency: 2 },
  { type: 'keyed', concurrency: 2, ...(isKeyed && { perKey: { concurrency: 1 } }) },
  { type: 'limited', concurrency: 1 },
];

const published = (delays: readonly number[]): fc.Arbitrary<readonly Envelope[]> =>
  fc
    .array(
      fc.record({
        type: fc.constantFrom(...types),
        priority: fc.constantFrom(0, 0, 0, 1, 2),
        key: fc.constantFrom('a', 'b', 'c', undefined),
        delayMs: fc.constantFrom(...delays),
        requestId: fc.constantFrom('r', 's'),
        body: fc.constantFrom('1', '"two"'),
        dedupe: fc.constantFrom(undefined, undefined, undefined, { id: 'd', windowMs: 5 }),
      }),
      { minLength: 1, maxLength: 9 },
    )
    .map((events) => events.map(({ type, ...rest }) => envelope(type, rest)));

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: published([0, 0, 0, 10, 10, 25]).map(
      (all): Step =>
        async (twin) =>
          twin.transport.publish(all),
    ),
  },
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.constantFrom(...types), fc.constantFrom('completed', 'completed', 'failed', 'retry', 'retry at once'))
      .map(
        ([type, how]): Step =>
          (twin) =>
            twin.end(type, how),
      ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(1, 10, 30).map(
      (ms): Step =>
        (twin) =>
          twin.advance(ms),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.nat(50).map(
      (index): Step =>
        (twin, sent) =>
          twin.transport.runs.cancel(sent[index % Math.max(1, sent.length)]?.id ?? '', cancelled),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.nat(50).map(
      (index): Step =>
        (twin, sent) =>
          twin.transport.deadLetters.replay(sent[index % Math.max(1, sent.length)]?.id ?? ''),
    ),
  },
);

it('starts, counts and finds events as if all were in memory', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(step, published([0, 10])), { minLength: 5, maxLength: 25 }),
      fc.integer({ min: 1, max: 5 }),
      async (steps, maxPendingInMemory) => {
        const file = newFile();
        const memory = new Twin((clock) => memoryTransport({ clock }));
        const sqlite = new Twin((clock) => sqliteTransport({ file, clock, maxPendingInMemory, synchronous: 'normal' }));
        const twins = [memory, sqlite];
        for (const twin of twins) await twin.open(independent, 1_000);
        const sent: Envelope[] = [];
        for (const [run, events] of steps) {
          const ids = [...sent, ...events].slice(-4).map(({ id }) => id);
          for (const twin of twins) {
            await twin.transport.publish(events);
            await run(twin, sent);
            await twin.settle();
          }
          sent.push(...events);
          expect(await sqlite.state(ids)).toEqual(await memory.state(ids));
        }
        for (const twin of twins) await twin.drain();
        expect(await sqlite.state([])).toEqual(await memory.state([]));
        for (const twin of twins) await twin.close();
      },
    ),
    { numRuns: runs(12) },
  );
});

it('loses nothing and keeps the order across restarts and changes of the keys', async () => {
  const steps: fc.Arbitrary<Step> = fc.oneof(
    {
      weight: 3,
      arbitrary: published([0]).map(
        (all): Step =>
          async (twin) =>
            twin.transport.publish(all),
      ),
    },
    {
      weight: 5,
      arbitrary: fc.constantFrom(...types).map(
        (type): Step =>
          (twin) =>
            twin.end(type, 'completed'),
      ),
    },
    {
      weight: 1,
      // Keys may take their turns in another order after a restart, so that another event of the type can be cancelled.
      arbitrary: fc.nat(50).map(
        (index): Step =>
          async (twin, sent) => {
            const ordered = sent.filter(({ type }) => type !== 'keyed');
            await twin.transport.runs.cancel(ordered[index % Math.max(1, ordered.length)]?.id ?? '', cancelled);
          },
      ),
    },
    {
      weight: 2,
      arbitrary: fc.boolean().map(
        (isKeyed): Step =>
          async (twin) => {
            await twin.close();
            await twin.open(subscriptions(isKeyed), 5);
          },
      ),
    },
  );
  const orderedStarts = ({ starts }: Twin): object => ({
    plain: starts.get('plain'),
    limited: starts.get('limited'),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(steps, published([0])), { minLength: 5, maxLength: 20 }),
      fc.integer({ min: 1, max: 5 }),
      async (all, maxPendingInMemory) => {
        const twins = [100_000, maxPendingInMemory].map((limit) => {
          const file = newFile();
          return new Twin((clock) =>
            sqliteTransport({ file, clock, maxPendingInMemory: limit, synchronous: 'normal' }),
          );
        });
        for (const twin of twins) await twin.open(subscriptions(true), 5);
        const sent: Envelope[] = [];
        for (const [run, events] of all) {
          for (const twin of twins) {
            await twin.transport.publish(events);
            await run(twin, sent);
            await twin.settle();
          }
          sent.push(...events);
        }
        for (const twin of twins) {
          while (twin.running.length > 0) for (const type of types) await twin.end(type, 'completed');
        }
        const [roomy, tight] = twins;
        if (roomy === undefined || tight === undefined) throw new Error('two twins');
        expect(orderedStarts(tight)).toEqual(orderedStarts(roomy));
        const [counts] = await Promise.all(twins.map((twin) => twin.transport.counts.get(types)));
        expect(await tight.transport.counts.get(types)).toEqual(counts);
        expect(counts?.map(({ total }) => total.pending)).toEqual([0, 0, 0]);
        expect(new Set(tight.starts.get('keyed'))).toEqual(new Set(roomy.starts.get('keyed')));
        for (const twin of twins) await twin.close();
      },
    ),
    { numRuns: runs(12) },
  );
});

it('delivers thousands of events that become due at once, with three in memory', async () => {
  const twin = new Twin((clock) =>
    sqliteTransport({ file: newFile(), clock, maxPendingInMemory: 3, synchronous: 'normal' }),
  );
  await twin.open([{ type: 'plain', concurrency: 2 }], 2);
  await twin.transport.publish(Array.from({ length: 1_000 }, () => envelope('plain', { delayMs: 10 })));
  await twin.clock.advance(10);
  while (twin.running.length > 0) await twin.end('plain', 'completed');
  expect((await twin.transport.counts.get(['plain']))[0]?.total).toMatchObject({
    completed: 1_000,
    pending: 0,
    delayed: 0,
  });
  await twin.close();
});

it('retires, erases and reads events that are in the file alone', async () => {
  const file = newFile();
  const clock = createFakeClock();
  const transport = sqliteTransport({ file, clock, maxPendingInMemory: 2 });
  const manager = transport.connect({ service: 'shop', logger: silentLogger });
  await manager.start({ concurrency: 1, subscriptions: [{ type: 'plain' }], onDelivery() {} });
  const sent = Array.from({ length: 600 }, (_, index) =>
    envelope('plain', { requestId: index < 500 ? 'r' : 's', delayMs: index % 2 }),
  );
  await manager.publish(sent);
  expect(await manager.lookup.erase('r')).toMatchObject({ pending: 500 });
  const before = await manager.counts.get(['plain']);
  await manager.close({ drainMs: 0 });
  const observer = sqliteObserver({ file, clock }).connect({ service: 'shop', logger: silentLogger });
  expect(await observer.counts.get(['plain'])).toMatchObject([{ total: { received: 600, pending: 600 } }]);
  expect(before).toMatchObject([{ total: { received: 600, pending: 600 } }]);
  expect(await observer.lookup.find(sent[599]?.id ?? '')).toMatchObject([{ requestId: 's' }]);
  await observer.close({ drainMs: 0 });
  expect(await transport.retire('shop', { discard: true })).toEqual({ events: 600, deadLetters: 0 });
  const reader = transport.connect({ service: 'shop', logger: silentLogger });
  expect(await reader.counts.get(['plain'])).toMatchObject([{ total: { failed: 600, pending: 0, delayed: 0 } }]);
  await reader.close({ drainMs: 0 });
});

it('continues when events can be read again that are in the file alone', async () => {
  const file = newFile();
  const twin = new Twin((clock) => sqliteTransport({ file, clock, maxPendingInMemory: 1 }));
  await twin.open([{ type: 'plain', concurrency: 1 }], 1);
  await twin.transport.publish([0, 0, 0, 10].map((delayMs) => envelope('plain', { delayMs })));
  const beside = await openBeside(file);
  beside.exec('ALTER TABLE spilled_events RENAME TO elsewhere');
  const ends = [twin.end('plain', 'completed')];
  await twin.clock.advance(50);
  expect(twin.running).toEqual([]);
  beside.exec('ALTER TABLE elsewhere RENAME TO spilled_events');
  for (let left = 3; left > 0; left -= 1) {
    await twin.clock.advance(5_000);
    expect(twin.running).toHaveLength(1);
    ends.push(twin.end('plain', 'completed'));
  }
  await twin.clock.advance(5_000);
  await Promise.all(ends);
  expect(await twin.transport.counts.get(['plain'])).toMatchObject([{ total: { completed: 4, pending: 0 } }]);
  await twin.close();
});
