/** Counts of one event type or workflow. `received = completed + failed + pending` at every instant. */
export interface Counts {
  /** Events accepted, each counted once however often it is tried. */
  readonly received: number;
  /** Events whose last attempt succeeded. */
  readonly completed: number;
  /** Events given up: attempts used up, a fatal error, or a payload that its schema rejects. */
  readonly failed: number;
  /** Accepted and not ended: waiting, delayed, or running. */
  readonly pending: number;
  /** Handlers running now. Part of `pending`. */
  readonly active: number;
  /** Runs that wait for time, an event or a child run and hold no process. Part of `pending`. */
  readonly suspended: number;
  /** Attempts that failed and were scheduled again. */
  readonly retried: number;
  /** Epoch milliseconds of the last acceptance; absent while nothing was received. */
  readonly lastReceivedAt?: number;
  /** Epoch milliseconds of the last terminal failure; absent while nothing failed. */
  readonly lastFailedAt?: number;
}

/** Durations of attempts in milliseconds, to within 2 %; `null` while none has ended. */
export interface Durations {
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
  readonly max: number | null;
}

/** One minute of the last hour. */
export interface MinuteBucket {
  /** Epoch milliseconds at which the minute begins. */
  readonly at: number;
  readonly received: number;
  readonly completed: number;
  readonly failed: number;
}

/** A terminal failure, without the payload that led to it. */
export interface FailureRecord {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly at: number;
  /** The attempt that failed last, from 1. */
  readonly attempt: number;
  /** Name of the error's class. */
  readonly name: string;
  /** The error's message, cut to 1,024 characters. */
  readonly message: string;
}

/** One event type in depth. */
export interface EventMetrics extends Counts {
  readonly type: string;
  /** Events not accepted because their `dedupeId` was known. Not part of `received`. */
  readonly deduplicated: number;
  readonly durationMs: Durations;
  /** The last 60 minutes, oldest first, the current one last: always 60 entries. */
  readonly perMinute: readonly MinuteBucket[];
}
