import type { ErrorInfo } from '../../../errors.js';
import { type AttemptRecord, keepAttempt } from '../../attempt-record.js';
import { keptRecent } from '../../limits.js';
import type { Outcome } from '../../transport.js';
import type { Entry } from './entry.js';

type End = Extract<Outcome, { status: 'completed' | 'failed' }>;

/** Ended event without its payload. */
export interface EndedEvent {
  readonly id: string;
  readonly requestId: string;
  readonly causeId?: string | undefined;
  readonly status: 'completed' | 'failed' | 'cancelled';
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
  readonly #ended = new Ring<EndedEvent>(keptRecent);
  readonly #failed = new Ring<EndedEvent>(keptRecent);

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
  return {
    id: envelope.id,
    requestId: envelope.requestId,
    causeId: envelope.causeId,
    status: isFailed && outcome.cancelled === true ? 'cancelled' : outcome.status,
    acceptedAt,
    startedAt: hasStarted ? startedAt : undefined,
    endedAt: now,
    attempt,
    earlier: attempts,
    error: isFailed ? outcome.error : undefined,
    step: isFailed ? outcome.step : undefined,
  };
}

/** Returns an attempt that failed. */
export function failedAttempt(
  { attempt, startedAt }: Entry,
  { error }: { readonly error: ErrorInfo },
  now: number,
): AttemptRecord {
  return { attempt, startedAt, endedAt: now, error };
}

/** Adds the attempt that an entry runs as interrupted. */
export function noteInterruption(entry: Entry, now: number): void {
  const { attempt, attempts, startedAt } = entry;
  entry.attempts = keepAttempt(attempts, { attempt, startedAt, endedAt: now, isInterrupted: true });
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
