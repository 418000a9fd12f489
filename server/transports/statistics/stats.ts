/** Counts of one event type or workflow. At every instant `received = completed + failed + pending`. */
export interface Counts {
  /** Accepted events. Retries do not count again. */
  readonly received: number;
  /** Events with a successful last attempt. */
  readonly completed: number;
  /** Events that the `when` of their handler or trigger refused. Part of `completed`. */
  readonly filtered: number;
  /** Events that failed terminally: no attempts left, a fatal error, or a payload that does not match its schema. */
  readonly failed: number;
  /** Events that were cancelled. Part of `failed`, but not of the failures in histories. */
  readonly cancelled: number;
  /** Accepted events without an outcome: waiting, delayed or running. */
  readonly pending: number;
  /** Handlers that are running. Part of `pending`. */
  readonly active: number;
  /** Events that wait for their `delayMs`, their debounce window or the delay of a retry. Part of `pending`. */
  readonly delayed: number;
  /** Runs that wait for time, an event or a child run and hold no process. Part of `pending`. */
  readonly suspended: number;
  /** Approvals that runs wait for; absent if there are none. */
  readonly approvals?: number;
  /** Runs that wait for a process with a higher version of their workflow; absent if there are none. */
  readonly awaitingVersion?: number;
  /** Failed attempts that were scheduled for a retry. */
  readonly retried: number;
  /** Events that were not accepted because their `dedupeId` was known. Not part of `received`. */
  readonly deduplicated: number;
  /** Dead letters that are open: neither replayed nor evicted. */
  readonly deadLetters: number;
  /** Acceptance time of the oldest pending event in epoch milliseconds; absent if nothing is pending. */
  readonly oldestPendingAt?: number;
  /** Epoch milliseconds of the last acceptance; absent until an event is received. */
  readonly lastReceivedAt?: number;
  /** Epoch milliseconds of the last terminal failure; absent until an event fails. */
  readonly lastFailedAt?: number;
}

/**
 * Kind of a counter. `stored` and `live` are counts that add up, `optional` one that is absent at 0. `stored` ones outlive
 * the process, as does `latest`, the highest of the times; `oldest` is the lowest. A time is absent until it is known.
 */
export type CounterKind = 'stored' | 'live' | 'optional' | 'latest' | 'oldest';

/** All counters of an event type with their kinds: the one list of them. Stores, bodies and the page derive theirs. */
export const COUNTERS = {
  received: 'stored',
  completed: 'stored',
  filtered: 'stored',
  failed: 'stored',
  cancelled: 'stored',
  pending: 'live',
  active: 'live',
  delayed: 'live',
  suspended: 'live',
  approvals: 'optional',
  awaitingVersion: 'optional',
  retried: 'stored',
  deduplicated: 'stored',
  deadLetters: 'live',
  oldestPendingAt: 'oldest',
  lastReceivedAt: 'latest',
  lastFailedAt: 'latest',
} as const;

/** Names of the counters of some kinds. */
export type CounterOf<K extends CounterKind> = {
  [N in keyof Counts]-?: (typeof COUNTERS)[N] extends K ? N : never;
}[keyof Counts];

/** Returns the names of the counters of some kinds, in the order of the list. */
export function countersOf<K extends CounterKind>(...kinds: readonly K[]): readonly CounterOf<K>[] {
  // The types of `Object.keys` and `filter` know neither the names nor the kinds.
  return (Object.keys(COUNTERS) as (keyof Counts)[]).filter((name): name is CounterOf<K> =>
    (kinds as readonly CounterKind[]).includes(COUNTERS[name]),
  );
}

/** Percentiles of durations in milliseconds, accurate to 10 %, and the exact maximum; `null` without durations. */
export interface Durations {
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
  readonly max: number | null;
}

/** Counts of one period. The failure rate is `(failed - cancelled) / (completed + failed - cancelled)`. */
export interface PeriodCounts {
  readonly received: number;
  readonly completed: number;
  /** Events that ended without success, cancelled ones included. */
  readonly failed: number;
  readonly cancelled: number;
  readonly retried: number;
}

/** Counters of a period. */
export const periodCounters = ['received', 'completed', 'failed', 'cancelled', 'retried'] as const;

/** Activity of the last minutes. "5 minutes" are the current minute and the five before it. */
export interface RecentActivity {
  readonly last5Min: PeriodCounts;
  /** Waiting time from acceptance to the first attempt over 5 minutes; `null` if no event started in them. */
  readonly waitP95Ms: number | null;
  /** Duration of attempts over 5 minutes; `null` if no attempt ended in them. */
  readonly durationP95Ms: number | null;
  /** The last 20 minutes, oldest first, the current one last. `failed` is without cancelled events. */
  readonly minutes: { readonly received: readonly number[]; readonly failed: readonly number[] };
}

/** Columns of equal periods, oldest first, the current period last. */
export interface History {
  /** Start of the first period in epoch milliseconds. */
  readonly startAt: number;
  readonly stepMs: number;
  readonly received: readonly number[];
  readonly completed: readonly number[];
  /** Failures without cancelled events. */
  readonly failed: readonly number[];
  readonly waitP95Ms: readonly (number | null)[];
  readonly durationP95Ms: readonly (number | null)[];
}

/** Histories of one type or of all types. */
export interface Histories {
  /** 60 periods of a minute. */
  readonly minutes: History;
  /** 588 periods of 5 minutes: the last 49 hours. */
  readonly fiveMinutes: History;
  /** 168 periods of an hour. */
  readonly hours: History;
}

/** Percentiles of two periods. "Hour" is the current period of 5 minutes and the twelve before it. */
export interface PeriodDurations {
  readonly last5Min: Durations;
  readonly lastHour: Durations;
}

/** Numbers of durations by length. They only grow while the transport keeps them. */
export interface DurationCounts {
  /** Number of durations per bound of `durationBoundsMs`, accurate to 10 %, and last the number of longer ones. */
  readonly counts: readonly number[];
  /** Sum of the durations in milliseconds, accurate to 10 %. */
  readonly sumMs: number;
}

/** Durations of one type over all services. */
export interface TypeDurations {
  /** Waiting times from acceptance to the first attempt. */
  readonly waitMs: DurationCounts;
  /** Durations of attempts. */
  readonly durationMs: DurationCounts;
}

/** Recent activity of one type. */
export interface TypeActivity {
  readonly recent: RecentActivity;
  readonly lastFailure?: FailureRecord;
}

/** Activity of all event types together. Runs of workflows are not part of it. */
export interface TotalActivity {
  readonly recent: RecentActivity;
  readonly histories: Histories;
}

/** Counts of several types in a range. */
export interface RangeCounts {
  /** Start and end in epoch milliseconds, widened to whole periods. */
  readonly from: number;
  readonly to: number;
  readonly stepMs: number;
  /** Counts per type, in the order of the query. */
  readonly counts: readonly PeriodCounts[];
}

/** A terminal failure, without the payload. */
export interface FailureRecord {
  /** Id of the event. */
  readonly id: string;
  /** Time of the failure in epoch milliseconds. */
  readonly at: number;
  /** Number of the last attempt, from 1. */
  readonly attempt: number;
  /** Correlation id of the event. Absent in records of versions that did not store it. */
  readonly requestId?: string;
  /** Step that failed, of a workflow run. */
  readonly step?: string;
  /** Class name of the error. */
  readonly name: string;
  /** Message of the error, cut to 1,024 characters. */
  readonly message: string;
}

/** Counts, durations and histories of one event type. */
export interface EventMetrics extends Counts {
  readonly type: string;
  readonly recent: RecentActivity;
  /** Waiting time from acceptance to the first attempt. */
  readonly waitMs: PeriodDurations;
  /** Duration of attempts. */
  readonly durationMs: PeriodDurations;
  readonly histories: Histories;
}

/** Counts of one type in one service. */
export type ServiceTypeCounts = {
  readonly [N in keyof Omit<Counts, 'pending'>]: undefined extends Counts[N] ? Counts[N] | undefined : Counts[N];
};

/** Sums the counts of several services. Each by its name: a loop over the list takes ten times as long. */
export function sumCounts(all: readonly ServiceTypeCounts[]): Counts {
  const total: { -readonly [K in keyof Counts]: Counts[K] } = {
    received: 0,
    completed: 0,
    filtered: 0,
    failed: 0,
    cancelled: 0,
    pending: 0,
    active: 0,
    delayed: 0,
    suspended: 0,
    retried: 0,
    deduplicated: 0,
    deadLetters: 0,
  };
  let approvals = 0;
  let awaitingVersion = 0;
  let oldestPendingAt: number | undefined;
  let lastReceivedAt: number | undefined;
  let lastFailedAt: number | undefined;
  for (const counts of all) {
    total.received += counts.received;
    total.completed += counts.completed;
    total.filtered += counts.filtered;
    total.failed += counts.failed;
    total.cancelled += counts.cancelled;
    total.active += counts.active;
    total.delayed += counts.delayed;
    total.suspended += counts.suspended;
    total.retried += counts.retried;
    total.deduplicated += counts.deduplicated;
    total.deadLetters += counts.deadLetters;
    approvals += counts.approvals ?? 0;
    awaitingVersion += counts.awaitingVersion ?? 0;
    oldestPendingAt = oldest(oldestPendingAt, counts.oldestPendingAt);
    lastReceivedAt = latest(lastReceivedAt, counts.lastReceivedAt);
    lastFailedAt = latest(lastFailedAt, counts.lastFailedAt);
  }
  total.pending = total.received - total.completed - total.failed;
  if (approvals > 0) total.approvals = approvals;
  if (awaitingVersion > 0) total.awaitingVersion = awaitingVersion;
  if (oldestPendingAt !== undefined) total.oldestPendingAt = oldestPendingAt;
  if (lastReceivedAt !== undefined) total.lastReceivedAt = lastReceivedAt;
  if (lastFailedAt !== undefined) total.lastFailedAt = lastFailedAt;
  return total;
}

function latest(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || (other ?? 0) > one ? other : one;
}

function oldest(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || (other ?? one) < one ? other : one;
}
