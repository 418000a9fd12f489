import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.js';
import { workflowOf } from '../delivery.js';
import { approvalsFirst, type RunRecord } from '../event-record.js';
import { PeriodHistory } from '../statistics/period-history.js';
import { noActivity, periodKinds, periodOf, RecentMinutes, rangePeriods, rangeTimes } from '../statistics/periods.js';
import {
  type Counts,
  type EventMetrics,
  type FailureRecord,
  type RangeCounts,
  sumCounts,
  type TotalActivity,
  type TypeActivity,
  type TypeDurations,
} from '../statistics/stats.js';
import type { CountReader, TypeCounts } from '../transport.js';
import type { ConsumerGroup } from './consumer-group.js';
import type { Journal } from './journal.js';
import type { TypeQueue } from './type-queue.js';
import { latestFailures, type RevisionCounter, type TypeStats } from './type-stats.js';

/** The part of a broker that its statistics use. */
export interface StatisticsHost {
  readonly clock: Clock;
  readonly journal: Journal;
  readonly revision: RevisionCounter;
}

/** Counts, histories, failures and runs of all services of a broker. */
export class BrokerStatistics implements CountReader {
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
    this.#totalHistory = new PeriodHistory(undefined, (minute, history) => journal.minute(undefined, minute, history));
  }

  /** Returns the history of a type, which all services share; that of all types for `undefined`. */
  history(type: string | undefined): PeriodHistory {
    if (type === undefined) return this.#totalHistory;
    // A new queue is about to count in it.
    this.#readings.delete(type);
    let history = this.#histories.get(type);
    if (history === undefined) {
      const total = workflowOf(type) === undefined ? this.#totalHistory : undefined;
      history = new PeriodHistory(total, (minute, of) => this.#journal.minute(type, minute, of));
      this.#histories.set(type, history);
    }
    return history;
  }

  async get(types: readonly string[]): Promise<readonly TypeCounts[]> {
    return this.counts(types);
  }

  counts(types: readonly string[]): readonly TypeCounts[] {
    return types.map((type) => this.#counts(type));
  }

  async metrics(type: string): Promise<EventMetrics> {
    const now = this.#clock.now();
    const history = this.#knownHistory(type);
    return {
      type,
      ...this.#counts(type).total,
      recent: history.recent(now),
      ...history.durations(now),
      histories: history.histories(now),
    };
  }

  async durations(types: readonly string[]): Promise<readonly TypeDurations[]> {
    return types.map((type) => this.#knownHistory(type).totals());
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

  async range(types: readonly string[], from: number, to: number): Promise<RangeCounts> {
    const periods = rangePeriods(from, to, this.#clock.now());
    return {
      ...rangeTimes(periods),
      counts: types.map((type) => this.#knownHistory(type).range(periods)),
    };
  }

  async failures(type: string): Promise<readonly FailureRecord[]> {
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

  async revision(type?: string): Promise<string> {
    if (type === undefined) return `${this.#id}.${this.#revision.value}.${this.#minute()}`;
    const changes = this.#stats(type).reduce((sum, { revision }) => sum + revision, 0);
    // The histories change every minute without an event.
    return `${this.#id}.${changes}.${this.#minute()}`;
  }

  #counts(type: string): TypeCounts {
    return this.#reading(type)?.counts() ?? { total: sumCounts([]), services: [] };
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

/**
 * Reads the counts and the activity of a type. Returns the same objects until one of their values changes: most types of
 * a hub are idle between two introspections, and objects for thousands of types take longer than all other parts of an
 * introspection.
 */
class TypeReading {
  readonly #queues: readonly TypeQueue[];
  readonly #history: PeriodHistory;
  #counts: TypeCounts | undefined;
  #activity: TypeActivity | undefined;

  /** @param queues queues of the type, one per service */
  constructor(queues: readonly TypeQueue[], history: PeriodHistory) {
    this.#queues = queues;
    this.#history = history;
  }

  counts(): TypeCounts {
    if (this.#counts !== undefined && this.#isCurrent(this.#counts)) return this.#counts;
    const services = this.#queues.map(({ service, counts }) => ({ service, counts }));
    const [first] = services;
    const isOnly = first !== undefined && services.length === 1;
    this.#counts = { total: isOnly ? first.counts : sumCounts(services.map(({ counts }) => counts)), services };
    return this.#counts;
  }

  /** @param sums of the current minute; it must be empty */
  activity(now: number, sums: RecentMinutes): TypeActivity {
    const recent = this.#history.recent(now, sums);
    const lastFailure = this.#lastFailure();
    if (this.#activity?.recent !== recent || this.#activity.lastFailure !== lastFailure) {
      this.#activity = lastFailure === undefined ? { recent } : { recent, lastFailure };
    }
    return this.#activity;
  }

  #isCurrent({ services }: { readonly services: readonly { readonly counts: Counts }[] }): boolean {
    for (let index = 0; index < this.#queues.length; index += 1) {
      if (this.#queues[index]?.counts !== services[index]?.counts) return false;
    }
    return true;
  }

  #lastFailure(): FailureRecord | undefined {
    let last: FailureRecord | undefined;
    for (const { stats } of this.#queues) {
      const failure = stats.failures[0];
      if (failure !== undefined && (last === undefined || failure.at > last.at)) last = failure;
    }
    return last;
  }
}
