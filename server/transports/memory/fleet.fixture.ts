import { expect } from 'vitest';
import { createFakeClock } from '../../testing/fake-clock.js';
import { envelope } from '../contract/envelope.js';
import { completed, failed, retry } from '../contract/outcome.js';
import type { Delivery, Subscription } from '../delivery.js';
import type { Counts } from '../statistics/stats.js';
import { silentLogger, type TransportManager } from '../transport.js';
import { memoryTransport } from './memory-transport.js';

/** Connection of the fleet, as the model sees it. */
interface Process {
  readonly transport: TransportManager;
  readonly subscriptions: ReadonlyMap<string, Subscription>;
  readonly concurrency: number;
}

/** Delivery that runs, or an overdue handler. */
interface Running {
  readonly process: Process;
  readonly type: string;
  readonly key: string | undefined;
  readonly takesSharedSlot: boolean;
  /** `undefined` if the attempt has its outcome and its handler runs on. */
  delivery: Delivery | undefined;
  readonly end: () => void;
}

/** Rate in effect, and the starts since then. */
interface RateModel {
  readonly subscription: Subscription;
  readonly starts: number[];
}

/** End of one attempt. */
export type End = 'completed' | 'failed' | 'retry' | 'overdue' | 'overdue retry';

/** Processes of one service on a memory transport, beside a model that says what may start and what must have started. */
export class ModelledFleet {
  readonly clock = createFakeClock();
  readonly #transport = memoryTransport({ clock: this.clock });
  readonly #processes: Process[] = [];
  readonly #running: Running[] = [];
  readonly #rates = new Map<string, RateModel>();
  readonly #received = new Map<string, number>();
  readonly #ended = new Map<string, number>();
  /** Types that a process has handled. */
  readonly #known = new Set<string>();
  #triggers: readonly string[] = [];
  /** First start that the model forbids. */
  #violation: unknown;

  get size(): number {
    return this.#processes.length;
  }

  async open(subscriptions: readonly Subscription[], concurrency: number): Promise<void> {
    const transport = this.#transport.connect({ service: 'shop', logger: silentLogger });
    const byType = new Map(subscriptions.map((subscription) => [subscription.type, subscription]));
    const process: Process = { transport, subscriptions: byType, concurrency };
    this.#processes.push(process);
    for (const type of byType.keys()) this.#known.add(type);
    this.#adopt();
    await transport.start({
      concurrency,
      subscriptions,
      onDelivery: (delivery) => {
        try {
          this.#start(process, delivery);
        } catch (error) {
          this.#violation ??= error;
        }
      },
    });
  }

  async close(index: number): Promise<void> {
    const [process] = this.#processes.splice(index, 1);
    if (process === undefined) return;
    const interrupted = this.#running.filter((entry) => entry.process === process && entry.delivery !== undefined);
    for (const entry of interrupted) this.#running.splice(this.#running.indexOf(entry), 1);
    const overdue = this.#running.filter((entry) => entry.process === process).length;
    this.#adopt();
    expect(await process.transport.close({ drainMs: 0 })).toEqual({ released: interrupted.length, overdue });
  }

  /** Publishes without a connection that consumes. */
  async publish(type: string, count: number, delayMs: number): Promise<void> {
    const web = this.#transport.connect({ service: 'shop', logger: silentLogger });
    const keyOf = (index: number): { key?: string } => (type === 'keyed' ? { key: `key-${index % 2}` } : {});
    await web.publish(Array.from({ length: count }, (_, index) => envelope(type, { delayMs, ...keyOf(index) })));
    add(this.#received, type, count);
    if (!this.#known.has(type)) add(this.#ended, type, count);
    if (this.#triggers.includes(type)) add(this.#received, 'run', count);
  }

  /** Ends the attempt or the overdue handler that runs for the longest time. */
  async end(how: End): Promise<void> {
    const entry = this.#running.shift();
    if (entry === undefined) return;
    const { delivery, type } = entry;
    if (delivery === undefined) {
      entry.end();
      return;
    }
    const isOverdue = how.startsWith('overdue');
    if (!how.endsWith('retry')) add(this.#ended, type, 1);
    const outcome = how === 'completed' ? completed() : how.endsWith('retry') ? retry(20) : failed('no');
    if (!isOverdue) {
      await delivery.commit(outcome);
      return;
    }
    let settle = (): void => {};
    const handlerEnd = new Promise<void>((resolve) => {
      settle = resolve;
    });
    this.#running.push({ ...entry, delivery: undefined, end: settle });
    await delivery.commit(outcome, handlerEnd);
  }

  /** Compares the counts with the model, and checks that everything runs that the limits allow. */
  async check(types: readonly string[]): Promise<void> {
    await this.clock.settle();
    if (this.#violation !== undefined) throw this.#violation;
    const all = await this.counts(types);
    for (const [index, type] of types.entries()) {
      const total = all[index];
      if (total === undefined) throw new Error('no counts');
      const active = this.#running.filter((entry) => entry.type === type && entry.delivery !== undefined).length;
      expect(total).toMatchObject({ received: this.#received.get(type) ?? 0, active });
      expect(total.completed + total.failed).toBe(this.#ended.get(type) ?? 0);
      expect(total.received).toBe(total.completed + total.failed + total.pending);
      if (type !== 'keyed') this.#checkWaiting(type, total);
    }
  }

  async counts(types: readonly string[]): Promise<readonly Counts[]> {
    const reader = this.#transport.connect({ service: 'shop', logger: silentLogger });
    return (await reader.counts.get(types)).map(({ total }) => total);
  }

  get hasRunning(): boolean {
    return this.#running.length > 0;
  }

  #effective(type: string): Subscription | undefined {
    return this.#processes.findLast(({ subscriptions }) => subscriptions.has(type))?.subscriptions.get(type);
  }

  /** Follows the settings after a process has joined or left. */
  #adopt(): void {
    const run = this.#effective('run');
    if (run !== undefined) this.#triggers = run.triggers ?? [];
    for (const [type, { subscription }] of this.#rates) {
      const effective = this.#effective(type);
      if (effective !== undefined && effective !== subscription) this.#rates.delete(type);
    }
  }

  #rate(subscription: Subscription): RateModel {
    let rate = this.#rates.get(subscription.type);
    if (rate === undefined) {
      rate = { subscription, starts: [] };
      this.#rates.set(subscription.type, rate);
    }
    return rate;
  }

  #start(process: Process, delivery: Delivery): void {
    const { type, key } = delivery.envelope;
    const subscription = this.#effective(type);
    if (subscription === undefined) throw new Error(`nobody handles ${type}`);
    expect(this.#processes).toContain(process);
    expect(process.subscriptions.has(type)).toBe(true);
    const running = this.#running.filter((entry) => entry.type === type);
    expect(running.length).toBeLessThan(subscription.concurrency ?? Number.POSITIVE_INFINITY);
    if (key !== undefined && subscription.perKey?.concurrency !== undefined) {
      expect(running.filter((entry) => entry.key === key).length).toBeLessThan(subscription.perKey.concurrency);
    }
    const takesSharedSlot = !hasOwnLimits(subscription);
    if (takesSharedSlot) expect(this.#sharedOf(process)).toBeLessThan(process.concurrency);
    if (subscription.rate !== undefined) {
      const { starts } = this.#rate(subscription);
      const now = this.clock.monotonic();
      starts.push(now);
      const { max, perMs } = subscription.rate;
      expect(starts.filter((at) => at > now - perMs).length).toBeLessThanOrEqual(max);
    }
    this.#running.push({ process, type, key, takesSharedSlot, delivery, end: () => {} });
  }

  #sharedOf(process: Process): number {
    return this.#running.filter((entry) => entry.process === process && entry.takesSharedSlot).length;
  }

  /** Nothing waits that may start. Rates are left out: those of former settings count too. */
  #checkWaiting(type: string, { pending, active, delayed }: Counts): void {
    const subscription = this.#effective(type);
    if (subscription === undefined || subscription.rate !== undefined || pending - active - delayed === 0) return;
    const running = this.#running.filter((entry) => entry.type === type).length;
    if (subscription.concurrency !== undefined) expect(running).toBeGreaterThanOrEqual(subscription.concurrency);
    else {
      const handling = this.#processes.filter(({ subscriptions }) => subscriptions.has(type));
      for (const process of handling) expect(this.#sharedOf(process)).toBeGreaterThanOrEqual(process.concurrency);
    }
  }
}

function hasOwnLimits({ concurrency, rate }: Subscription): boolean {
  return concurrency !== undefined || rate !== undefined;
}

function add(counts: Map<string, number>, type: string, count: number): void {
  counts.set(type, (counts.get(type) ?? 0) + count);
}
