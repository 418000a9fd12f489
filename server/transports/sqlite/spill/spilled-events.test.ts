import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createFakeClock } from '../../../testing/fake-clock.js';
import { envelope } from '../../contract/envelope.js';
import { completed, failed, retry } from '../../contract/outcome.js';
import { silentLogger } from '../../logger.js';
import { memoryTransport } from '../../memory/memory-transport.js';
import type { Delivery, Envelope, FailedOutcome, Subscription, Transport, TransportManager } from '../../transport.js';
import { sqliteTransport } from '../sqlite-transport.js';
import { newFile } from '../stage.fixture.js';

const types = ['plain', 'keyed', 'limited'];
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
  // By type: the order among types depends on the time at which an event is read.
  readonly starts = new Map<string, string[]>(types.map((type) => [type, []]));
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
        const { id, type, body } = delivery.envelope;
        this.starts.get(type)?.push(`${id} ${delivery.attempt} ${body}`);
        this.running.push(delivery);
      },
    });
    await this.clock.settle();
  }

  async close(): Promise<void> {
    await this.#transport?.close({ drainMs: 0 });
    this.running.length = 0;
    this.#transport = undefined;
  }

  /** Ends the delivery of a type that runs for the longest time. */
  async end(type: string, how: string): Promise<void> {
    const index = this.running.findIndex(({ envelope: each }) => each.type === type);
    if (index === -1) return;
    const [delivery] = this.running.splice(index, 1);
    const outcome =
      how === 'completed' ? completed() : how === 'failed' ? failed('no') : retry(how === 'retry' ? 15 : 0);
    await delivery?.commit(outcome);
    await this.clock.settle();
  }

  async state(ids: readonly string[]): Promise<object> {
    const { transport } = this;
    const recent = await Promise.all(types.map((type) => transport.recent(type)));
    const byId = (events: readonly { readonly id: string }[]): object =>
      [...events].sort((a, b) => a.id.localeCompare(b.id));
    return {
      starts: this.starts,
      counts: await transport.counts(types),
      recent: recent.map(({ newest, failed: newestFailed }) => [byId(newest), byId(newestFailed)]),
      request: byId((await transport.request('r')).events),
      found: await Promise.all(ids.map((id) => transport.find(id, { bodies: true }))),
    };
  }
}

type Step = (twin: Twin, sent: readonly Envelope[]) => Promise<unknown>;

const subscriptions = (isKeyed: boolean): readonly Subscription[] => [
  // Each type has its own limits, so that they do not depend on each other.
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
        (twin) =>
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
          twin.clock.advance(ms),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.nat(50).map(
      (index): Step =>
        (twin, sent) =>
          twin.transport.cancel(sent[index % Math.max(1, sent.length)]?.id ?? '', cancelled),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.nat(50).map(
      (index): Step =>
        (twin, sent) =>
          twin.transport.replay(sent[index % Math.max(1, sent.length)]?.id ?? ''),
    ),
  },
);

it('starts, counts and finds events as if all were in memory', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(step, published([0, 10])), { minLength: 5, maxLength: 25 }),
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 4 }),
      async (steps, maxPendingInMemory, concurrency) => {
        const file = newFile();
        const memory = new Twin((clock) => memoryTransport({ clock }));
        const sqlite = new Twin((clock) => sqliteTransport({ file, clock, maxPendingInMemory, synchronous: 'normal' }));
        const twins = [memory, sqlite];
        for (const twin of twins) await twin.open(subscriptions(true), concurrency);
        const sent: Envelope[] = [];
        for (const [run, events] of steps) {
          const ids = [...sent, ...events].slice(-4).map(({ id }) => id);
          for (const twin of twins) {
            await twin.transport.publish(events);
            await run(twin, sent);
            await twin.clock.settle();
          }
          sent.push(...events);
          expect(await sqlite.state(ids)).toEqual(await memory.state(ids));
        }
        for (let round = 0; round < 2; round += 1) {
          for (const twin of twins) {
            while (twin.running.length > 0) for (const type of types) await twin.end(type, 'completed');
            await twin.clock.advance(1_000);
          }
        }
        expect(await sqlite.state([])).toEqual(await memory.state([]));
        for (const twin of twins) await twin.close();
      },
    ),
    { numRuns: 12 },
  );
});

it('loses nothing and keeps the order across restarts and changes of the keys', async () => {
  const steps: fc.Arbitrary<Step> = fc.oneof(
    {
      weight: 3,
      arbitrary: published([0]).map(
        (all): Step =>
          (twin) =>
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
      arbitrary: fc.nat(50).map(
        (index): Step =>
          (twin, sent) =>
            twin.transport.cancel(sent[index % Math.max(1, sent.length)]?.id ?? '', cancelled),
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
  // Keys may take their turns in another order after a restart.
  const ordered = ({ starts }: Twin): object => ({
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
            await twin.clock.settle();
          }
          sent.push(...events);
        }
        for (const twin of twins) {
          while (twin.running.length > 0) for (const type of types) await twin.end(type, 'completed');
        }
        const [roomy, tight] = twins;
        if (roomy === undefined || tight === undefined) throw new Error('two twins');
        expect(ordered(tight)).toEqual(ordered(roomy));
        const [counts] = await Promise.all(twins.map((twin) => twin.transport.counts(types)));
        expect(await tight.transport.counts(types)).toEqual(counts);
        expect(counts?.map(({ total }) => total.pending)).toEqual([0, 0, 0]);
        const starts = new Set(tight.starts.get('keyed')?.map((start) => start.split(' ')[0]));
        const cancelledKeyed = counts?.[1]?.total.cancelled ?? 0;
        const accepted = counts?.[1]?.total.received ?? 0;
        expect(starts.size).toBeGreaterThanOrEqual(accepted - cancelledKeyed);
        for (const twin of twins) await twin.close();
      },
    ),
    { numRuns: 12 },
  );
});

it('delivers thousands of events that become due at once, with three in memory', async () => {
  const twin = new Twin((clock) => sqliteTransport({ file: newFile(), clock, maxPendingInMemory: 3 }));
  await twin.open([{ type: 'plain', concurrency: 2 }], 2);
  await twin.transport.publish(Array.from({ length: 2_000 }, () => envelope('plain', { delayMs: 10 })));
  await twin.clock.advance(10);
  while (twin.running.length > 0) await twin.end('plain', 'completed');
  expect((await twin.transport.counts(['plain']))[0]?.total).toMatchObject({
    completed: 2_000,
    pending: 0,
    delayed: 0,
  });
  await twin.close();
});
