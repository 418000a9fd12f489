import type { Clock } from '../clock.js';
import type { DeadLetterFilter, ErasedPayloads, EventRecord, RecentEvents, RequestRecords } from '../event-record.js';
import type { KeyValueStore } from '../key-values/key-value-store.js';
import type { Logger } from '../logger.js';
import type { BrokerManager } from '../memory/memory-transport.js';
import type { ClaimResult, ScheduleClaim, ScheduleOpening, ScheduleRecord } from '../schedules.js';
import type { EventMetrics, FailureRecord, RangeCounts, TypeDurations } from '../statistics/stats.js';
import type {
  CloseResult,
  CommitResult,
  ConnectedProcess,
  ConsumeOptions,
  DeadLetterRecord,
  Envelope,
  FailedOutcome,
  Outcome,
  Overview,
  OverviewQuery,
  Receipt,
  RunRecord,
  TransportManager,
  TypeCounts,
} from '../transport.js';
import type { SharedStore } from './shared-store.js';
import type { OpenStore } from './sqlite-store.js';

/** Open file and the connection of a service to it. */
interface Connection {
  readonly store: OpenStore;
  readonly manager: BrokerManager;
}

/** Connection of one service. The first call opens the file. */
export class SqliteManager implements TransportManager {
  readonly name = 'sqlite';
  readonly service: string;
  readonly clock: Clock;
  readonly kv: KeyValueStore;
  readonly #shared: SharedStore;
  readonly #logger: Logger;
  #connection: Promise<Connection> | undefined;
  #isClosed = false;

  constructor(service: string, clock: Clock, shared: SharedStore, logger: Logger) {
    this.service = service;
    this.clock = clock;
    this.#shared = shared;
    this.#logger = logger;
    this.kv = {
      get: (key) => this.#use(({ store }) => store.kv.get(key)),
      set: (key, value, options) => this.#use(({ store }) => store.kv.set(key, value, options)),
      delete: (key) => this.#use(({ store }) => store.kv.delete(key)),
      increment: (key, by, ttlMs) => this.#use(({ store }) => store.kv.increment(key, by, ttlMs)),
      append: (key, values, options) => this.#use(({ store }) => store.kv.append(key, values, options)),
      range: (key, from, to) => this.#use(({ store }) => store.kv.range(key, from, to)),
    };
  }

  start(options: ConsumeOptions): Promise<void> {
    this.#isClosed = false;
    return this.#use(async ({ store, manager }) => {
      const isConsumer = options.subscriptions.length > 0;
      if (options.describe !== undefined) await store.describe(options.describe(), isConsumer);
      if (isConsumer) store.beginHandling();
      await manager.start(options);
    });
  }

  publish(envelopes: readonly Envelope[]): Promise<readonly Receipt[]> {
    return this.#use(async ({ manager }) => manager.publish(envelopes));
  }

  counts(types: readonly string[]): Promise<readonly TypeCounts[]> {
    return this.#use(({ manager }) => manager.counts(types));
  }

  metrics(type: string): Promise<EventMetrics> {
    return this.#use(({ manager }) => manager.metrics(type));
  }

  range(types: readonly string[], from: number, to: number): Promise<RangeCounts> {
    return this.#use(({ manager }) => manager.range(types, from, to));
  }

  durations(types: readonly string[]): Promise<readonly TypeDurations[]> {
    return this.#use(({ manager }) => manager.durations(types));
  }

  failures(type: string): Promise<readonly FailureRecord[]> {
    return this.#use(({ manager }) => manager.failures(type));
  }

  recent(type: string): Promise<RecentEvents> {
    return this.#use(({ manager }) => manager.recent(type));
  }

  find(id: string, options?: { readonly bodies?: boolean }): Promise<readonly EventRecord[]> {
    return this.#use(({ manager }) => manager.find(id, options));
  }

  request(requestId: string): Promise<RequestRecords> {
    return this.#use(({ manager }) => manager.request(requestId));
  }

  erase(requestId: string): Promise<ErasedPayloads> {
    return this.#use(({ manager }) => manager.erase(requestId));
  }

  deadLetters(type: string, limit: number, filter?: DeadLetterFilter): Promise<readonly DeadLetterRecord[]> {
    return this.#use(({ manager }) => manager.deadLetters(type, limit, filter));
  }

  replay(id: string): Promise<boolean> {
    return this.#use(({ manager }) => manager.replay(id));
  }

  overview(query: OverviewQuery): Promise<Overview> {
    return this.#use(({ manager }) => manager.overview(query));
  }

  waiting(types: readonly string[], limit: number): Promise<readonly (readonly RunRecord[])[]> {
    return this.#use(({ manager }) => manager.waiting(types, limit));
  }

  run(type: string, id: string): Promise<RunRecord | undefined> {
    return this.#use(({ manager }) => manager.run(type, id));
  }

  runSince(type: string, id: string, from: number): Promise<RunRecord | undefined> {
    return this.#use(({ manager }) => manager.runSince(type, id, from));
  }

  watchRun(type: string, id: string, onChange: () => void): Promise<() => void> {
    return this.#use(({ manager }) => manager.watchRun(type, id, onChange));
  }

  runEnded(type: string, id: string, signal: AbortSignal): Promise<RunRecord | undefined> {
    return this.#use(({ manager }) => manager.runEnded(type, id, signal));
  }

  endRun(type: string, id: string, outcome: Outcome, reason: Error): Promise<CommitResult> {
    return this.#use(({ manager }) => manager.endRun(type, id, outcome, reason));
  }

  cancel(id: string, conclude: (envelope: Envelope) => FailedOutcome): Promise<boolean> {
    return this.#use(({ manager }) => manager.cancel(id, conclude));
  }

  schedules(): Promise<readonly ScheduleRecord[]> {
    return this.#use(({ manager }) => manager.schedules());
  }

  openSchedules(openings: readonly ScheduleOpening[]): Promise<boolean> {
    return this.#use(({ manager }) => manager.openSchedules(openings));
  }

  claim(claim: ScheduleClaim): Promise<ClaimResult> {
    return this.#use(({ manager }) => manager.claim(claim));
  }

  registered(): Promise<readonly string[]> {
    return this.#use(({ manager }) => manager.registered());
  }

  processes(): Promise<readonly ConnectedProcess[]> {
    return this.#use(({ manager }) => manager.processes());
  }

  revision(type?: string): Promise<string> {
    return this.#use(({ manager }) => manager.revision(type));
  }

  async close(options: { drainMs: number }): Promise<CloseResult> {
    const connection = this.#connection;
    this.#isClosed = true;
    if (connection === undefined) return { released: 0, overdue: 0 };
    const { manager } = await connection;
    const result = await manager.close(options);
    // Another call of `close` may have been faster.
    if (this.#connection === connection) {
      this.#connection = undefined;
      await this.#shared.release();
    }
    return result;
  }

  async #use<T>(call: (connection: Connection) => Promise<T>): Promise<T> {
    if (this.#connection !== undefined || !this.#isClosed) {
      this.#connection ??= this.#connect();
      const connecting = this.#connection;
      try {
        return await call(await connecting);
      } catch (error) {
        await connecting.catch(() => {
          if (this.#connection === connecting) this.#connection = undefined;
        });
        throw error;
      }
    }
    // A read after the end must not keep the file open.
    const connection = await this.#connect();
    try {
      return await call(connection);
    } finally {
      await this.#shared.release();
    }
  }

  async #connect(): Promise<Connection> {
    const store = await this.#shared.acquire(this.#logger);
    return { store, manager: store.connect(this.service) };
  }
}
