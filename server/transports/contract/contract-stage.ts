import { afterEach, beforeEach } from 'vitest';
import type { Counts } from '../stats.js';
import type { Delivery, Subscription, TransportManager } from '../transport.js';

/** What the suites need of a transport under test. */
export interface ContractHarness {
  /** A connection to the one transport of this test. */
  connect(service: string): TransportManager;
  /** Lets so much of the transport's time pass. */
  advance(ms: number): Promise<void>;
  /** Ends whatever the harness began. */
  release(): Promise<void>;
}

/** What a test does with the transport: a new one in each test. */
export interface ContractStage extends Omit<ContractHarness, 'release'> {
  /** Starts a connection that takes deliveries, and does nothing with them. */
  consume(
    subscriptions: readonly (string | Subscription)[],
    options?: { service?: string; concurrency?: number; description?: string },
  ): Promise<Consumption>;
  /** The next delivery, as soon as there is one. */
  next(consumption: Consumption): Promise<Delivery>;
  /** Waits for a condition while the transport's time goes by in small steps. */
  until(condition: () => boolean | Promise<boolean>): Promise<void>;
  /** Counts of one type, over all services. */
  counts(transport: TransportManager, type: string): Promise<Counts>;
}

/** A connection with what was delivered to it and not yet looked at. */
export class Consumption {
  readonly transport: TransportManager;
  readonly waiting: Delivery[] = [];

  constructor(transport: TransportManager) {
    this.transport = transport;
  }

  take(delivery: Delivery): void {
    this.waiting.push(delivery);
  }

  shift(): Delivery {
    const delivery = this.waiting.shift();
    if (delivery === undefined) throw new Error('nothing was delivered');
    return delivery;
  }
}

/** Sets the stage anew for each test of the suite that it is called in. */
export function contractStage(setup: () => Promise<ContractHarness>): ContractStage {
  let harness: ContractHarness;
  let open: Consumption[];

  beforeEach(async () => {
    harness = await setup();
    open = [];
  });
  afterEach(async () => {
    for (const { transport } of open) await transport.close({ drainMs: 0 });
    await harness.release();
  });

  const until: ContractStage['until'] = async (condition) => {
    for (let step = 0; step < 500; step += 1) {
      if (await condition()) return;
      await harness.advance(step < 10 ? 0 : 10);
    }
    throw new Error('the awaited condition did not come true');
  };

  return {
    until,
    connect: (service) => harness.connect(service),
    advance: (ms) => harness.advance(ms),
    async consume(subscriptions, { service = 'shop', concurrency = 100, description = '{}' } = {}) {
      const consumption = new Consumption(harness.connect(service));
      open.push(consumption);
      await consumption.transport.start({
        concurrency,
        describe: () => description,
        subscriptions: subscriptions.map((type) => (typeof type === 'string' ? { type } : type)),
        onDelivery: (delivery) => consumption.take(delivery),
      });
      return consumption;
    },
    async next(consumption) {
      await until(() => consumption.waiting.length > 0);
      return consumption.shift();
    },
    async counts(transport, type) {
      const [found] = await transport.counts([type]);
      if (found === undefined) throw new Error('counts() answered nothing for a type');
      return found.total;
    },
  };
}
