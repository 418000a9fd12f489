import { DurationSketch } from '../duration-sketch.js';
import type { EventMetrics, FailureRecord, MinuteBucket } from '../stats.js';
import { sumCounts } from '../sum-counts.js';
import type { Outcome } from '../transport.js';

const minutesKept = 60;
const failuresKept = 20;
const minuteMs = 60_000;

/** The minute that `at` (epoch milliseconds) falls in, counted from the epoch. */
export function minuteOf(at: number): number {
  return Math.floor(at / minuteMs);
}

/** What one service counts of one event type. Its size does not grow with the events. */
export class TypeStats {
  received = 0;
  completed = 0;
  failed = 0;
  active = 0;
  suspended = 0;
  retried = 0;
  deduplicated = 0;
  lastReceivedAt: number | undefined;
  lastFailedAt: number | undefined;
  /** Goes up at every change. */
  revision = 0;
  readonly failures: FailureRecord[] = [];
  readonly durations: DurationSketch = new DurationSketch();
  // A ring of minutes with four numbers each: the minute, received, completed, failed.
  readonly #minutes = new Float64Array(minutesKept * 4);

  countReceived(now: number): void {
    this.received += 1;
    this.lastReceivedAt = now;
    this.#countInMinute(now, 1);
  }

  countCompleted(now: number): void {
    this.completed += 1;
    this.#countInMinute(now, 2);
  }

  countFailed(
    now: number,
    id: string,
    attempt: number,
    { name, message }: Extract<Outcome, { status: 'failed' }>['error'],
  ): void {
    this.failed += 1;
    this.lastFailedAt = now;
    this.#countInMinute(now, 3);
    this.failures.unshift({ id, at: now, attempt, name, message });
    if (this.failures.length > failuresKept) this.failures.pop();
  }

  minute(minute: number): MinuteBucket {
    const slot = (minute % minutesKept) * 4;
    const [kept, received = 0, completed = 0, failed = 0] = this.#minutes.subarray(slot, slot + 4);
    const at = minute * minuteMs;
    return kept === minute ? { at, received, completed, failed } : { at, received: 0, completed: 0, failed: 0 };
  }

  #countInMinute(now: number, field: 1 | 2 | 3): void {
    const minute = minuteOf(now);
    const slot = (minute % minutesKept) * 4;
    if (this.#minutes[slot] !== minute) this.#minutes.fill(0, slot, slot + 4);
    this.#minutes[slot] = minute;
    this.#minutes[slot + field] = (this.#minutes[slot + field] ?? 0) + 1;
  }
}

/** One type in depth, added up over several services. */
export function sumMetrics(type: string, all: readonly TypeStats[], now: number): EventMetrics {
  const durations = new DurationSketch();
  for (const stats of all) durations.merge(stats.durations);
  const current = minuteOf(now);
  const perMinute = Array.from({ length: minutesKept }, (_, index) => {
    const minute = current - minutesKept + 1 + index;
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

/** The newest failures of several services, newest first. */
export function latestFailures(all: readonly TypeStats[]): readonly FailureRecord[] {
  return all
    .flatMap((stats) => stats.failures)
    .sort((a, b) => b.at - a.at)
    .slice(0, failuresKept);
}

function addBuckets(a: MinuteBucket, b: MinuteBucket): MinuteBucket {
  return {
    at: a.at,
    received: a.received + b.received,
    completed: a.completed + b.completed,
    failed: a.failed + b.failed,
  };
}
