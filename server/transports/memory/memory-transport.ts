import { InvalidOptionError } from '../../errors.js';
import { checkOptionNames } from '../../option-names.js';
import { CheckedKeyValueStore } from '../checked-key-value-store.js';
import { type Clock, systemClock } from '../clock.js';
import type { KeyValueStore } from '../key-value-store.js';
import type { EventMetrics, FailureRecord } from '../stats.js';
import type {
  CloseResult,
  CommitResult,
  ConsumeOptions,
  DeadLetterRecord,
  Envelope,
  Outcome,
  Overview,
  OverviewQuery,
  Receipt,
  RunRecord,
  Transport,
  TransportManager,
  TypeCounts,
} from '../transport.js';
import { Broker } from './broker.js';
import type { Connection } from './connection.js';
import { MemoryKeyValueStore } from './memory-key-value-store.js';
import type { RunLog } from './run-log.js';
import type { Service } from './service.js';

/** What `memoryTransport` takes. */
export interface MemoryTransportOptions {
  /** Events accepted and not ended, over all hubs on the transport; `emit` rejects past it. @default 1_000_000 */
  maxPending?: number;
  /** Events of a type that failed for good and are kept, with their payloads, for `hub.replay`. @default 1_000 */
  maxDeadLetters?: number;
  /** Where time comes from; a fake one in tests. @default the machine's */
  clock?: Clock;
}

/**
 * Keeps events in this process: the default transport. Hubs that are given the same one share their
 * events, and a hub made later on it goes on with what an earlier one left. What is pending when the
 * process ends is gone.
 *
 * @throws {InvalidOptionError}
 */
export function memoryTransport(options: MemoryTransportOptions = {}): Transport {
  checkOptionNames(options, ['maxPending', 'maxDeadLetters', 'clock'], 'memoryTransport');
  const { maxPending = 1_000_000, maxDeadLetters = 1_000, clock = systemClock } = options;
  checkCount('maxPending', maxPending, 1);
  checkCount('maxDeadLetters', maxDeadLetters, 0);
  const broker = new Broker(clock, { maxPending, maxDeadLetters });
  const kv = new CheckedKeyValueStore(new MemoryKeyValueStore(clock));
  return { connect: ({ service }) => new MemoryTransportManager(broker, kv, broker.service(service)) };
}

function checkCount(option: keyof MemoryTransportOptions, value: number, least: number): void {
  if (Number.isInteger(value) && value >= least) return;
  throw new InvalidOptionError(`${option} of memoryTransport`, `a whole number, ${least} or more`, value);
}

class MemoryTransportManager implements TransportManager {
  readonly name = 'memory';
  readonly service: string;
  readonly clock: Clock;
  readonly kv: KeyValueStore;
  readonly #broker: Broker;
  readonly #service: Service;
  #connection: Connection | undefined;

  constructor(broker: Broker, kv: KeyValueStore, service: Service) {
    this.service = service.name;
    this.clock = broker.clock;
    this.kv = kv;
    this.#broker = broker;
    this.#service = service;
  }

  async start(options: ConsumeOptions): Promise<void> {
    if (options.describe !== undefined) this.#broker.join(this, options.describe);
    this.#connection = this.#service.open(options);
    this.#broker.subscribe(this.#service, options.subscriptions);
  }

  async publish(envelopes: readonly Envelope[]): Promise<readonly Receipt[]> {
    return this.#broker.publish(envelopes, this.#service);
  }

  async counts(types: readonly string[]): Promise<readonly TypeCounts[]> {
    return types.map((type) => this.#broker.counts(type));
  }

  async metrics(type: string): Promise<EventMetrics> {
    return this.#broker.metrics(type);
  }

  async failures(type: string): Promise<readonly FailureRecord[]> {
    return this.#broker.failures(type);
  }

  async deadLetters(type: string, limit: number): Promise<readonly DeadLetterRecord[]> {
    return this.#service.findQueue(type)?.deadLetters.latest(limit) ?? [];
  }

  async replay(id: string): Promise<boolean> {
    return this.#broker.replay(id, this.#service);
  }

  async overview({ types, runTypes, runLimit }: OverviewQuery): Promise<Overview> {
    return {
      registered: this.#broker.descriptions,
      counts: types.map((type) => this.#broker.counts(type)),
      runs: runTypes.map((type) => this.#broker.runs(type, runLimit)),
    };
  }

  async run(type: string, id: string): Promise<RunRecord | undefined> {
    return this.#runLog(type)?.record(id, this.service);
  }

  async runEnded(type: string, id: string, signal: AbortSignal): Promise<RunRecord | undefined> {
    return this.#runLog(type)?.ended(id, this.service, signal);
  }

  async endRun(type: string, id: string, outcome: Outcome, reason: Error): Promise<CommitResult> {
    const entry = this.#runLog(type)?.entry(id);
    if (entry === undefined) return 'fenced';
    if (entry.ended) return 'already';
    this.#service.endRun(entry, outcome, reason);
    return 'ok';
  }

  async registered(): Promise<readonly string[]> {
    return this.#broker.descriptions;
  }

  async revision(type?: string): Promise<string> {
    return this.#broker.revision(type);
  }

  #runLog(type: string): RunLog | undefined {
    return this.#service.findQueue(type)?.runs;
  }

  async close({ drainMs }: { drainMs: number }): Promise<CloseResult> {
    const connection = this.#connection;
    if (connection === undefined) return { released: 0 };
    this.#connection = undefined;
    const released = await this.#service.close(connection, drainMs);
    this.#broker.leave(this);
    return { released };
  }
}
