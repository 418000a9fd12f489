import type { ErrorInfo } from '../../errors.js';
import type { Clock } from '../clock.js';
import type { DeadLetterFilter } from '../event-record.js';
import type { DeadLetterRecord, Outcome } from '../transport.js';
import type { Entry } from './entry.js';

/** Dead letter as the memory transport keeps it. */
export interface DeadLetter {
  readonly entry: Entry;
  readonly at: number;
  readonly error: ErrorInfo;
  readonly step: string | undefined;
}

/** Limits of {@link DeadLetters}. */
export interface DeadLetterLimits {
  readonly maxDeadLetters: number;
  /** Age in milliseconds at which a dead letter is evicted. */
  readonly maxDeadLetterAgeMs: number;
}

/** The latest dead letters of one type in one service, up to a number and an age. */
export class DeadLetters {
  readonly #limits: DeadLetterLimits;
  readonly #clock: Clock;
  /** By event id, oldest first. */
  readonly #byId = new Map<string, DeadLetter>();

  constructor(limits: DeadLetterLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  add(entry: Entry, { error, step }: Extract<Outcome, { status: 'failed' }>, now: number): void {
    const { maxDeadLetters } = this.#limits;
    if (maxDeadLetters === 0) return;
    this.#evictOld();
    this.#byId.set(entry.envelope.id, { entry, at: now, error, step });
    if (this.#byId.size <= maxDeadLetters) return;
    for (const oldestId of this.#byId.keys()) {
      this.#byId.delete(oldestId);
      return;
    }
  }

  get size(): number {
    return this.#byId.size;
  }

  find(id: string): Entry | undefined {
    this.#evictOld();
    return this.#byId.get(id)?.entry;
  }

  /** Removes a dead letter and returns its entry; `undefined` if there is none. */
  take(id: string): Entry | undefined {
    const entry = this.#byId.get(id)?.entry;
    this.#byId.delete(id);
    return entry;
  }

  /** All dead letters, oldest first. */
  all(): Iterable<DeadLetter> {
    this.#evictOld();
    return this.#byId.values();
  }

  /** Returns at most `limit` dead letters that match the filter, newest first. */
  latest(limit: number, { requestId, since = Number.NEGATIVE_INFINITY }: DeadLetterFilter = {}): DeadLetterRecord[] {
    const matches = ({ entry, at }: DeadLetter): boolean =>
      at >= since && (requestId === undefined || entry.envelope.requestId === requestId);
    return [...this.all()]
      .filter(matches)
      .slice(-limit)
      .reverse()
      .map(({ entry: { envelope, attempt }, at, error, step }) => ({ envelope, at, attempt, error, step }));
  }

  #evictOld(): void {
    const oldestAt = this.#clock.now() - this.#limits.maxDeadLetterAgeMs;
    for (const [id, { at }] of this.#byId) {
      if (at > oldestAt) return;
      this.#byId.delete(id);
    }
  }
}
