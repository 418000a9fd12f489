import type { ErrorInfo } from '../../errors.js';
import type { Envelope, Outcome } from '../delivery.js';
import type { AttemptRecord } from '../event-record.js';
import { retainedFailures, retainedRecent } from '../limits.js';
import type { PeriodHistory } from '../statistics/period-history.js';
import type { FailureRecord } from '../statistics/stats.js';
import type { Entry } from './entry.js';

type Failure = Extract<Outcome, { status: 'failed' }>;

/** Statistics of one event type in one service, in constant space. */
export class TypeStats {
  received = 0;
  completed = 0;
  filtered = 0;
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

  countFiltered(now: number): void {
    this.filtered += 1;
    this.countCompleted(now);
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

type End = Extract<Outcome, { status: 'completed' | 'failed' }>;

/** Ended event without its payload. */
export interface EndedEvent {
  readonly id: string;
  readonly requestId: string;
  readonly causeId?: string | undefined;
  readonly status: 'completed' | 'filtered' | 'failed' | 'cancelled';
  readonly acceptedAt: number;
  /** Start of the last attempt; `undefined` if the event ended before one. */
  readonly startedAt: number | undefined;
  readonly endedAt: number;
  readonly attempt: number;
  /** Attempts before the last one. */
  readonly earlier: readonly AttemptRecord[];
  readonly error: ErrorInfo | undefined;
  readonly step: string | undefined;
}

/** The newest ended events of one type in one service. Failed ones are kept apart, so that no others evict them. */
export class EventLog {
  readonly #ended = new Ring<EndedEvent>(retainedRecent);
  readonly #failed = new Ring<EndedEvent>(retainedRecent);

  add(entry: Entry, outcome: End, now: number): void {
    this.restore(toEndedEvent(entry, outcome, now));
  }

  /** The ended and the failed events, each in the order of their ends. */
  get retained(): { readonly ended: readonly EndedEvent[]; readonly failed: readonly EndedEvent[] } {
    return { ended: this.#ended.ordered(), failed: this.#failed.ordered() };
  }

  /** Adds an event that is stored already. */
  restore(event: EndedEvent): void {
    (event.status === 'failed' ? this.#failed : this.#ended).push(event);
  }

  /** Forgets an event that is accepted again. */
  forget(id: string): void {
    this.#failed.removeIf((event) => event.id === id);
  }

  /** All retained events, in no order. */
  *events(): Iterable<EndedEvent> {
    yield* this.#failed.items();
    yield* this.#ended.items();
  }
}

/** Returns an event that ends. */
export function toEndedEvent(entry: Entry, outcome: End, now: number): EndedEvent {
  const { envelope, acceptedAt, hasStarted, startedAt, attempt, attempts } = entry;
  const isFailed = outcome.status === 'failed';
  const isFiltered = outcome.status === 'completed' && outcome.filtered === true;
  return {
    id: envelope.id,
    requestId: envelope.requestId,
    causeId: envelope.causeId,
    status: isFailed && outcome.cancelled === true ? 'cancelled' : isFiltered ? 'filtered' : outcome.status,
    acceptedAt,
    startedAt: hasStarted ? startedAt : undefined,
    endedAt: now,
    attempt,
    earlier: attempts,
    error: isFailed ? outcome.error : undefined,
    step: isFailed ? outcome.step : undefined,
  };
}

/** The last items that were added, in an array of constant size. */
class Ring<T> {
  readonly #size: number;
  #items: T[] = [];
  #next = 0;

  constructor(size: number) {
    this.#size = size;
  }

  push(item: T): void {
    this.#items[this.#next] = item;
    this.#next = this.#next + 1 === this.#size ? 0 : this.#next + 1;
  }

  removeIf(matches: (item: T) => boolean): void {
    const index = this.#items.findIndex(matches);
    if (index === -1) return;
    // In the order of their arrival, so that the next item still replaces the oldest one.
    this.#items = this.ordered().filter((item) => !matches(item));
    this.#next = this.#items.length;
  }

  /** All items in the order of their arrival. */
  ordered(): readonly T[] {
    const isFull = this.#items.length === this.#size;
    return isFull ? [...this.#items.slice(this.#next), ...this.#items.slice(0, this.#next)] : this.#items;
  }

  items(): Iterable<T> {
    return this.#items;
  }
}
