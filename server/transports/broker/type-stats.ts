import type { Envelope, Outcome } from '../delivery.js';
import { retainedFailures } from '../limits.js';
import type { PeriodHistory } from '../statistics/period-history.js';
import type { FailureRecord } from '../statistics/stats.js';

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
  readonly #history: PeriodHistory;
  readonly #transportRevision: RevisionCounter;
  readonly #onCount: () => void;

  /**
   * @param history counts the events of the type in all services
   * @param onCount called after a change of the counters that outlive the process
   */
  constructor(history: PeriodHistory, transportRevision: RevisionCounter, onCount: () => void) {
    this.#history = history;
    this.#transportRevision = transportRevision;
    this.#onCount = onCount;
  }

  countReceived(now: number): void {
    this.received += 1;
    this.lastReceivedAt = now;
    this.#history.count('received', now);
    this.#counted();
  }

  countDeduplicated(): void {
    this.deduplicated += 1;
    this.#counted();
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

  /** Counts the first start of an event. */
  countWait(waitMs: number, now: number): void {
    this.#history.countWait(waitMs, now);
  }

  countDuration(durationMs: number, now: number): void {
    this.#history.countDuration(durationMs, now);
  }

  countRetried(now: number): void {
    this.retried += 1;
    this.#history.count('retried', now);
    this.#counted();
  }

  countCompleted(now: number): void {
    this.completed += 1;
    this.#history.count('completed', now);
    this.#counted();
  }

  countFailed(now: number, { id, requestId }: Envelope, attempt: number, failure: Failure): void {
    const { step } = failure;
    const { name, message } = failure.error;
    this.failed += 1;
    this.lastFailedAt = now;
    this.#history.count('failed', now);
    const place = step === undefined ? { requestId } : { requestId, step };
    this.failures.unshift({ id, at: now, attempt, ...place, name, message });
    if (this.failures.length > retainedFailures) this.failures.pop();
    this.#counted();
  }

  countCancelled(now: number): void {
    this.failed += 1;
    this.cancelled += 1;
    this.#history.count('failed', now);
    this.#history.count('cancelled', now);
    this.#counted();
  }

  #counted(): void {
    this.#onCount();
    this.markChanged();
  }

  /** Marks a change of the type's runs that no counter shows. */
  markChanged(): void {
    this.revision += 1;
    this.#transportRevision.increment();
  }
}

/** Returns the latest failures of several services, newest first. */
export function latestFailures(all: readonly TypeStats[]): readonly FailureRecord[] {
  return all
    .flatMap((stats) => stats.failures)
    .sort((a, b) => b.at - a.at)
    .slice(0, retainedFailures);
}

/** Counts the changes that an overview of the transport shows. */
export class RevisionCounter {
  value = 0;

  increment(): void {
    this.value += 1;
  }
}
