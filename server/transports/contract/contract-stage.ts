import { afterEach, beforeEach } from 'vitest';
import { patienceMs } from '../../../scripts/test-projects.js';
import type { DeclaredEvent, Delivery, Subscription } from '../delivery.js';
import type { Counts } from '../statistics/stats.js';
import type { DroppedEvent, TransportManager } from '../transport.js';

// A fake clock takes its steps at once; a busy machine takes longer over those of a real server.
const fewestSteps = 500;

/** A transport under test. */
export interface ContractHarness {
  /** Creates a connection to the test's transport. */
  connect(service: string): TransportManager;
  /** Waits until the transport's time has advanced by `ms` milliseconds. */
  advance(ms: number): Promise<void>;
  /** Returns the transport's time in whole milliseconds. */
  now(): Promise<number>;
  /**
   * Ends the leases of all running deliveries, as the death of their processes does. Absent if the transport has no
   * processes but this one.
   */
  loseLeases?(): Promise<void>;
  /** Closes everything that the harness opened. */
  release(): Promise<void>;
}

/** Options of the contract. */
export interface ContractOptions {
  /** The transport stores large payloads itself. @default true */
  readonly isInline?: boolean;
}

/** Operations of a test on its transport; each test has a new one. */
export interface ContractStage extends Required<Omit<ContractHarness, 'release'>> {
  /** Starts a connection that collects deliveries without committing them. */
  consume(
    subscriptions: readonly (string | Subscription)[],
    options?: {
      service?: string;
      concurrency?: number;
      description?: string;
      declared?: readonly DeclaredEvent[];
    },
  ): Promise<Consumption>;
  /** Waits for the next delivery. */
  next(consumption: Consumption): Promise<Delivery>;
  /** Waits for a condition while the transport's time advances in small steps. */
  until(condition: () => boolean | Promise<boolean>): Promise<void>;
  /**
   * Repeats an action, which begins anew each time, until less than `ms` have passed during it. On a machine that stalls,
   * a short time of the transport may end in the middle of an action that needs it.
   */
  inTime<T>(ms: number, act: () => Promise<T>): Promise<T>;
  /** Returns the counts of one type, summed over the services. */
  counts(transport: TransportManager, type: string): Promise<Counts>;
}

/** A connection and its deliveries that the test has not taken yet. */
export class Consumption {
  readonly transport: TransportManager;
  readonly waiting: Delivery[] = [];
  /** Reports of runs that dropped events. */
  readonly dropped: DroppedEvent[] = [];

  constructor(transport: TransportManager) {
    this.transport = transport;
  }

  take(delivery: Delivery): void {
    this.waiting.push(delivery);
  }

  shift(): Delivery {
    const delivery = this.waiting.shift();
    if (delivery === undefined) throw new Error('no delivery is waiting');
    return delivery;
  }
}

/** Creates a new transport for each test of the calling suite. */
export function contractStage(setup: () => Promise<ContractHarness>): ContractStage {
  let harness: ContractHarness;
  let open: TransportManager[];
  const connect = (service: string): TransportManager => {
    const transport = harness.connect(service);
    open.push(transport);
    return transport;
  };

  beforeEach(async () => {
    harness = await setup();
    open = [];
  });
  afterEach(async () => {
    for (const transport of open) await transport.close({ drainMs: 0 });
    await harness.release();
  });

  const until: ContractStage['until'] = async (condition) => {
    const giveUpAt = performance.now() + patienceMs;
    for (let step = 0; step < fewestSteps || performance.now() < giveUpAt; step += 1) {
      if (await condition()) return;
      await harness.advance(step < 10 ? 0 : 10);
    }
    throw new Error('the awaited condition did not become true');
  };

  return {
    until,
    connect,
    advance: (ms) => harness.advance(ms),
    now: () => harness.now(),
    loseLeases: async () => harness.loseLeases?.(),
    async inTime(ms, act) {
      for (;;) {
        const from = await harness.now();
        const result = await act();
        if ((await harness.now()) - from < ms) return result;
      }
    },
    async consume(subscriptions, { service = 'shop', concurrency = 100, description = '{}', declared = [] } = {}) {
      const consumption = new Consumption(connect(service));
      await consumption.transport.start({
        concurrency,
        declared,
        describe: () => description,
        describeProcess: (active) => JSON.stringify({ service, active }),
        subscriptions: subscriptions.map((type) => (typeof type === 'string' ? { type } : type)),
        onDelivery: (delivery) => consumption.take(delivery),
        onDropped: (event) => consumption.dropped.push(event),
      });
      return consumption;
    },
    async next(consumption) {
      await until(() => consumption.waiting.length > 0);
      return consumption.shift();
    },
    async counts(transport, type) {
      const [found] = await transport.counts.get([type]);
      if (found === undefined) throw new Error('counts() returned nothing for the type');
      return found.total;
    },
  };
}
