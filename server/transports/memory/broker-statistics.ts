import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.js';
import { approvalsFirst } from '../run-record.js';
import { periodKinds, periodOf, rangePeriods, rangeTimes } from '../statistics/periods.js';
import { noActivity, RecentMinutes } from '../statistics/recent-minutes.js';
import type {
  EventMetrics,
  FailureRecord,
  RangeCounts,
  TotalActivity,
  TypeActivity,
  TypeDurations,
} from '../statistics/stats.js';
import { sumCounts } from '../statistics/sum-counts.js';
import type { RunRecord, TypeCounts } from '../transport.js';
import { workflowOf } from '../workflow-type.js';
import type { ConsumerGroup } from './group/consumer-group.js';
import type { Journal } from './records/journal.js';
import { PeriodHistory } from './statistics/period-history.js';
import type { RevisionCounter } from './statistics/revision-counter.js';
import { latestFailures, type TypeStats } from './statistics/type-stats.js';
import type { TypeQueue } from './type-queue/type-queue.js';
import { TypeReading } from './type-reading.js';

/** The part of a broker that its statistics use. */
export interface StatisticsHost {
  readonly clock: Clock;
  readonly journal: Journal;
  readonly revision: RevisionCounter;
}

/** Counts, histories, failures and runs of all services of a broker. */
export class BrokerStatistics {
  readonly #groups: ReadonlyMap<string, ConsumerGroup>;
  readonly #clock: Clock;
  readonly #journal: Journal;
  readonly #revision: RevisionCounter;
  readonly #id = randomUUID().slice(0, 8);
  readonly #histories = new Map<string, PeriodHistory>();
  readonly #readings = new Map<string, TypeReading>();
  readonly #totalHistory: PeriodHistory;

  constructor(groups: ReadonlyMap<string, ConsumerGroup>, { clock, journal, revision }: StatisticsHost) {
    this.#groups = groups;
    this.#clock = clock;
    this.#journal = journal;
    this.#revision = revision;
    this.#totalHistory = new PeriodHistory(undefined, (period, kind) => journal.period(undefined, kind, period));
  }

  /** Returns the history of a type, which all services share; that of all types for `undefined`. */
  history(type: string | undefined): PeriodHistory {
    if (type === undefined) return this.#totalHistory;
    // A new queue is about to count in it.
    this.#readings.delete(type);
    let history = this.#histories.get(type);
    if (history === undefined) {
      const total = workflowOf(type) === undefined ? this.#totalHistory : undefined;
      history = new PeriodHistory(total, (period, kind) => this.#journal.period(type, kind, period));
      this.#histories.set(type, history);
    }
    return history;
  }

  counts(type: string): TypeCounts {
    return this.#reading(type)?.counts() ?? { total: sumCounts([]), services: [] };
  }

  metrics(type: string): EventMetrics {
    const now = this.#clock.now();
    const history = this.#knownHistory(type);
    return {
      type,
      ...this.counts(type).total,
      recent: history.recent(now),
      ...history.durations(now),
      histories: history.histories(now),
    };
  }

  durations(type: string): TypeDurations {
    return this.#knownHistory(type).totals();
  }

  /** Returns the activity of types, in the same order. */
  activity(types: readonly string[]): readonly TypeActivity[] {
    const now = this.#clock.now();
    const sums = new RecentMinutes(periodOf(now, periodKinds.minutes));
    return types.map((type) => this.#reading(type)?.activity(now, sums) ?? { recent: noActivity });
  }

  total(): TotalActivity {
    const now = this.#clock.now();
    return { recent: this.#totalHistory.recent(now), histories: this.#totalHistory.histories(now) };
  }

  range(types: readonly string[], from: number, to: number): RangeCounts {
    const periods = rangePeriods(from, to, this.#clock.now());
    return {
      ...rangeTimes(periods),
      counts: types.map((type) => this.#knownHistory(type).range(periods)),
    };
  }

  failures(type: string): readonly FailureRecord[] {
    return latestFailures(this.#stats(type));
  }

  runs(type: string, limit: number): readonly RunRecord[] {
    return [...this.#groups.values()]
      .flatMap((group) => group.queues.find(type)?.runs?.latest(limit, group.service) ?? [])
      .sort((a, b) => b.acceptedAt - a.acceptedAt)
      .slice(0, limit);
  }

  /** Returns the runs of a type that wait. */
  waiting(type: string, limit: number): readonly RunRecord[] {
    const all = [...this.#groups.values()].flatMap((group) => {
      const queue = group.queues.find(type);
      return queue?.runs?.waiting(limit, queue.stats.suspended, group.service) ?? [];
    });
    return approvalsFirst(all).slice(0, limit);
  }

  revisionOf(type: string | undefined): string {
    if (type === undefined) return `${this.#id}.${this.#revision.value}.${this.#minute()}`;
    const changes = this.#stats(type).reduce((sum, { revision }) => sum + revision, 0);
    // The histories change every minute without an event.
    return `${this.#id}.${changes}.${this.#minute()}`;
  }

  #minute(): number {
    return periodOf(this.#clock.now(), periodKinds.minutes);
  }

  /** Returns `undefined` for a type that was never published or handled. */
  #reading(type: string): TypeReading | undefined {
    const known = this.#readings.get(type);
    if (known !== undefined) return known;
    const history = this.#histories.get(type);
    if (history === undefined) return undefined;
    const reading = new TypeReading(this.#queuesOf(type), history);
    this.#readings.set(type, reading);
    return reading;
  }

  /** Returns the history of a type; an empty one if the type was never published or handled. */
  #knownHistory(type: string): PeriodHistory {
    return this.#histories.get(type) ?? new PeriodHistory();
  }

  #stats(type: string): TypeStats[] {
    return this.#queuesOf(type).map(({ stats }) => stats);
  }

  #queuesOf(type: string): TypeQueue[] {
    return [...this.#groups.values()].flatMap((group) => group.queues.find(type) ?? []);
  }
}
