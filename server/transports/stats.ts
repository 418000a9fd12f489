/** Counts of one event type or workflow. At every instant `received = completed + failed + pending`. */
export interface Counts {
  /** Accepted events. Retries do not count again. */
  readonly received: number;
  /** Events with a successful last attempt. */
  readonly completed: number;
  /** Events that failed terminally: no attempts left, a fatal error, or a payload that does not match its schema. */
  readonly failed: number;
  /** Events that were cancelled. Part of `failed`, but not of the failures per minute. */
  readonly cancelled: number;
  /** Accepted events without an outcome: waiting, delayed or running. */
  readonly pending: number;
  /** Handlers that are running. Part of `pending`. */
  readonly active: number;
  /** Events that wait for their `delayMs`, their debounce window or the delay of a retry. Part of `pending`. */
  readonly delayed: number;
  /** Runs that wait for time, an event or a child run and hold no process. Part of `pending`. */
  readonly suspended: number;
  /** Failed attempts that were scheduled for a retry. */
  readonly retried: number;
  /** Epoch milliseconds of the last acceptance; absent until an event is received. */
  readonly lastReceivedAt?: number;
  /** Epoch milliseconds of the last terminal failure; absent until an event fails. */
  readonly lastFailedAt?: number;
}

/** Percentiles of attempt durations in milliseconds, accurate to 2 %; `null` until an attempt has ended. */
export interface Durations {
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
  readonly max: number | null;
}

/** Counts of one minute. */
export interface MinuteBucket {
  /** Start of the minute in epoch milliseconds. */
  readonly at: number;
  readonly received: number;
  readonly completed: number;
  readonly failed: number;
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

/** Counts, durations and history of one event type. */
export interface EventMetrics extends Counts {
  readonly type: string;
  /** Events that were not accepted because their `dedupeId` was known. Not part of `received`. */
  readonly deduplicated: number;
  readonly durationMs: Durations;
  /** The last 60 minutes, oldest first, the current minute last: always 60 entries. */
  readonly perMinute: readonly MinuteBucket[];
}
