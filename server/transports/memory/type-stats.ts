import { DurationSketch } from '../duration-sketch.js';
import { keptFailures, keptMinutes, minuteMs } from '../limits.js';
import type { EventMetrics, FailureRecord, MinuteBucket } from '../stats.js';
import { sumCounts } from '../sum-counts.js';
import type { Envelope, Outcome } from '../transport.js';
import type { RevisionCounter } from './revision-counter.js';

/** Returns the minute of `at` (epoch milliseconds), counted from the epoch. */
export function minuteOf(at: number): number {
  return Math.floor(at / minuteMs);
}

type Failure = Extract<Outcome, { status: 'failed' }>;

/** Statistics of one event type in one service, in constant space. */
export class TypeStats {
  received = 0;
  completed = 0;
  failed = 0;
  cancelled = 0;
  active = 0;
  delayed = 0;
  suspended = 0;
  retried = 0;
  deduplicated = 0;
  lastReceivedAt: number | undefined;
  lastFailedAt: number | undefined;
  /** Increases with every change. */
  revision = 0;
  readonly failures: FailureRecord[] = [];
  readonly durations: DurationSketch = new DurationSketch();
  readonly #transportRevision: RevisionCounter;
  // A ring of minutes with four numbers each: the minute, received, completed, failed.
  readonly #minutes = new Float64Array(keptMinutes * 4);

  constructor(transportRevision: RevisionCounter) {
    this.#transportRevision = transportRevision;
  }

  countReceived(now: number): void {
    this.received += 1;
    this.lastReceivedAt = now;
    this.#countInMinute(now, 1);
    this.markChanged();
  }

  countDeduplicated(): void {
    this.deduplicated += 1;
    this.markChanged();
  }

  countStart(): void {
    this.active += 1;
    this.markChanged();
  }

  /** Counts a running attempt as over, whether or not it has an outcome. */
  countRelease(): void {
    this.active -= 1;
    this.markChanged();
  }

  /** Counts a run as suspended (1) or no longer so (-1). */
  countSuspended(change: 1 | -1): void {
    this.suspended += change;
    this.markChanged();
  }

  countRetried(): void {
    this.retried += 1;
    this.markChanged();
  }

  countCompleted(now: number): void {
    this.completed += 1;
    this.#countInMinute(now, 2);
    this.markChanged();
  }

  countFailed(now: number, { id, requestId }: Envelope, attempt: number, failure: Failure): void {
    const { step } = failure;
    const { name, message } = failure.error;
    this.failed += 1;
    this.lastFailedAt = now;
    this.#countInMinute(now, 3);
    const place = step === undefined ? { requestId } : { requestId, step };
    this.failures.unshift({ id, at: now, attempt, ...place, name, message });
    if (this.failures.length > keptFailures) this.failures.pop();
    this.markChanged();
  }

  countCancelled(): void {
    this.failed += 1;
    this.cancelled += 1;
    this.markChanged();
  }

  /** Marks a change of the type's runs that no counter shows. */
  markChanged(): void {
    this.revision += 1;
    this.#transportRevision.increment();
  }

  minute(minute: number): MinuteBucket {
    const slot = (minute % keptMinutes) * 4;
    const [kept, received = 0, completed = 0, failed = 0] = this.#minutes.subarray(slot, slot + 4);
    const at = minute * minuteMs;
    return kept === minute ? { at, received, completed, failed } : { at, received: 0, completed: 0, failed: 0 };
  }

  #countInMinute(now: number, field: 1 | 2 | 3): void {
    const minute = minuteOf(now);
    const slot = (minute % keptMinutes) * 4;
    if (this.#minutes[slot] !== minute) this.#minutes.fill(0, slot, slot + 4);
    this.#minutes[slot] = minute;
    this.#minutes[slot + field] = (this.#minutes[slot + field] ?? 0) + 1;
  }
}

/** Sums the metrics of one type over several services. */
export function sumMetrics(type: string, all: readonly TypeStats[], now: number): EventMetrics {
  const durations = new DurationSketch();
  for (const stats of all) durations.merge(stats.durations);
  const current = minuteOf(now);
  const perMinute = Array.from({ length: keptMinutes }, (_, index) => {
    const minute = current - keptMinutes + 1 + index;
    return all
      .map((stats) => stats.minute(minute))
      .reduce(addBuckets, { at: minute * minuteMs, received: 0, completed: 0, failed: 0 });
  });
  return {
    type,
    ...sumCounts(all),
    deduplicated: all.reduce((total, stats) => total + stats.deduplicated, 0),
    durationMs: durations.durations(),
    perMinute,
  };
}

/** Returns the latest failures of several services, newest first. */
export function latestFailures(all: readonly TypeStats[]): readonly FailureRecord[] {
  return all
    .flatMap((stats) => stats.failures)
    .sort((a, b) => b.at - a.at)
    .slice(0, keptFailures);
}

function addBuckets(a: MinuteBucket, b: MinuteBucket): MinuteBucket {
  return {
    at: a.at,
    received: a.received + b.received,
    completed: a.completed + b.completed,
    failed: a.failed + b.failed,
  };
}
