import type { Clock } from '../clock.js';
import type { DeadLetterFilter, ErasedPayloads, EventRecord, RecentEvents, RequestRecords } from '../event-record.js';
import type { KeyValueStore } from '../key-values.js';
import type { EventMetrics, FailureRecord, RangeCounts, TypeDurations } from '../statistics/stats.js';
import type {
  ClaimResult,
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
  ScheduleClaim,
  ScheduleOpening,
  ScheduleRecord,
  TransportManager,
  TypeCounts,
} from '../transport.js';
import type { Broker } from './broker.js';
import type { ConsumerGroup } from './consumer-group.js';
import type { GroupConsumer } from './dispatcher.js';
import type { RunLog } from './runs.js';

/** Connection of one service to a broker. */
export class BrokerManager implements TransportManager {
  readonly name: string;
  readonly service: string;
  readonly clock: Clock;
  readonly kv: KeyValueStore;
  readonly #broker: Broker;
  readonly #group: ConsumerGroup;
  #consumer: GroupConsumer | undefined;

  constructor(name: string, broker: Broker, kv: KeyValueStore, group: ConsumerGroup) {
    this.name = name;
    this.service = group.service;
    this.clock = broker.clock;
    this.kv = kv;
    this.#broker = broker;
    this.#group = group;
  }

  async start(options: ConsumeOptions): Promise<void> {
    await this.#broker.journal.change(() => {
      const { describe, describeProcess } = options;
      if (describe !== undefined) {
        this.#broker.join(this, {
          service: this.service,
          isConsumer: options.subscriptions.length > 0,
          describe: () => ({
            description: describe(),
            state: describeProcess?.(this.#consumer?.active ?? 0) ?? '',
          }),
        });
      }
      this.#consumer = this.#group.members.open(options);
      this.#broker.subscribe(this.#group, options.subscriptions, options.declared ?? []);
    });
  }

  publish(envelopes: readonly Envelope[]): readonly Receipt[] | Promise<readonly Receipt[]> {
    // Before the acceptance, so that the caller has the receipt before others can see what follows from it.
    const nextTurn = this.#broker.turns.spend(envelopes);
    return nextTurn === undefined ? this.#accept(envelopes) : nextTurn.then(() => this.#accept(envelopes));
  }

  #accept(envelopes: readonly Envelope[]): readonly Receipt[] | Promise<readonly Receipt[]> {
    return this.#broker.journal.change(() => this.#broker.publish(envelopes, this.#group), envelopes);
  }

  async counts(types: readonly string[]): Promise<readonly TypeCounts[]> {
    return types.map((type) => this.#broker.statistics.counts(type));
  }

  async metrics(type: string): Promise<EventMetrics> {
    return this.#broker.statistics.metrics(type);
  }

  async range(types: readonly string[], from: number, to: number): Promise<RangeCounts> {
    return this.#broker.statistics.range(types, from, to);
  }

  async durations(types: readonly string[]): Promise<readonly TypeDurations[]> {
    return types.map((type) => this.#broker.statistics.durations(type));
  }

  async failures(type: string): Promise<readonly FailureRecord[]> {
    return this.#broker.statistics.failures(type);
  }

  async recent(type: string): Promise<RecentEvents> {
    return this.#broker.lookup.recent(type);
  }

  async find(id: string, { bodies = false }: { readonly bodies?: boolean } = {}): Promise<readonly EventRecord[]> {
    return this.#broker.lookup.find(id, bodies);
  }

  async request(requestId: string): Promise<RequestRecords> {
    return this.#broker.lookup.request(requestId);
  }

  async erase(requestId: string): Promise<ErasedPayloads> {
    return this.#broker.journal.change(() => this.#broker.lookup.erase(requestId));
  }

  async deadLetters(type: string, limit: number, filter?: DeadLetterFilter): Promise<readonly DeadLetterRecord[]> {
    return this.#group.queues.find(type)?.deadLetters.latest(limit, filter) ?? [];
  }

  async replay(id: string): Promise<boolean> {
    return this.#spend(await this.#broker.journal.change(() => this.#broker.replay(id, this.#group)));
  }

  async overview({ types, runTypes, runLimit }: OverviewQuery): Promise<Overview> {
    return {
      registered: await this.registered(),
      counts: types.map((type) => this.#broker.statistics.counts(type)),
      activity: this.#broker.statistics.activity(types),
      total: this.#broker.statistics.total(),
      retainsDeadLetters: this.#broker.deadLetterLimits.maxDeadLetters > 0,
      runs: runTypes.map((type) => this.#broker.statistics.runs(type, runLimit)),
      schedules: this.#broker.schedules.records(),
    };
  }

  async waiting(types: readonly string[], limit: number): Promise<readonly (readonly RunRecord[])[]> {
    return types.map((type) => this.#broker.statistics.waiting(type, limit));
  }

  async run(type: string, id: string): Promise<RunRecord | undefined> {
    const log = this.#runLog(type);
    log?.evict(this.clock.now());
    return log?.record(id, this.service);
  }

  async runSince(type: string, id: string, from: number): Promise<RunRecord | undefined> {
    const log = this.#runLog(type);
    log?.evict(this.clock.now());
    return log?.recordSince(id, this.service, from);
  }

  async watchRun(type: string, id: string, onChange: () => void): Promise<() => void> {
    return this.#runLog(type)?.watch(id, onChange) ?? (() => {});
  }

  async runEnded(type: string, id: string, signal: AbortSignal): Promise<RunRecord | undefined> {
    return this.#runLog(type)?.ended(id, this.service, signal);
  }

  async endRun(type: string, id: string, outcome: Outcome, reason: Error): Promise<CommitResult> {
    const result = await this.#broker.journal.change((): CommitResult => {
      const entry = this.#runLog(type)?.entry(id);
      if (entry === undefined) return 'fenced';
      if (entry.ended) return 'already';
      this.#group.endRun(type, entry, outcome, reason);
      return 'ok';
    });
    return this.#spend(result);
  }

  async cancel(id: string, conclude: (envelope: Envelope) => FailedOutcome): Promise<boolean> {
    return this.#spend(await this.#broker.journal.change(() => this.#group.cancel(id, conclude)));
  }

  async schedules(): Promise<readonly ScheduleRecord[]> {
    return this.#broker.schedules.records();
  }

  async openSchedules(openings: readonly ScheduleOpening[]): Promise<boolean> {
    return this.#broker.journal.change(() => this.#broker.schedules.open(this.service, this, openings));
  }

  async claim(claim: ScheduleClaim): Promise<ClaimResult> {
    return this.#broker.journal.change(() =>
      this.#broker.schedules.claim(this.service, this, claim, () => this.#broker.publish(claim.events, this.#group)),
    );
  }

  async registered(): Promise<readonly string[]> {
    return this.#broker.descriptions();
  }

  async processes(): Promise<readonly ConnectedProcess[]> {
    return this.#broker.processes;
  }

  async revision(type?: string): Promise<string> {
    return this.#broker.statistics.revisionOf(type);
  }

  #spend<T>(result: T): T | Promise<T> {
    return this.#broker.turns.spendCall()?.then(() => result) ?? result;
  }

  #runLog(type: string): RunLog | undefined {
    return this.#group.queues.find(type)?.runs;
  }

  async close({ drainMs }: { drainMs: number }): Promise<CloseResult> {
    const consumer = this.#consumer;
    if (consumer === undefined) return { released: 0, overdue: 0 };
    this.#consumer = undefined;
    const result = await this.#group.members.close(consumer, drainMs);
    this.#broker.leave(this);
    return result;
  }
}
