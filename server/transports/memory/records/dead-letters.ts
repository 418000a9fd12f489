import type { Clock } from '../../clock.js';
import { toRecorded } from '../../envelope.js';
import type { DeadLetterFilter } from '../../event-record.js';
import type { DeadLetterRecord, Outcome } from '../../transport.js';
import type { Entry, LostEvent } from './entry.js';

/** Dead letter as the memory transport keeps it. */
export interface DeadLetter extends LostEvent {
  readonly entry: Entry;
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
  readonly #onChange: (entry: Entry, letter: LostEvent | undefined) => void;
  /** By event id, oldest first. */
  readonly #byId = new Map<string, DeadLetter>();

  /** @param onChange receives each dead letter that is added, and `undefined` for one that is removed */
  constructor(limits: DeadLetterLimits, clock: Clock, onChange: (entry: Entry, letter: LostEvent | undefined) => void) {
    this.#limits = limits;
    this.#clock = clock;
    this.#onChange = onChange;
  }

  add(entry: Entry, { error, step }: Extract<Outcome, { status: 'failed' }>, now: number): void {
    const { maxDeadLetters } = this.#limits;
    if (maxDeadLetters === 0) return;
    this.#evictOld();
    const letter = { at: now, error, step };
    this.restore(entry, letter);
    this.#onChange(entry, letter);
    if (this.#byId.size <= maxDeadLetters) return;
    for (const oldestId of this.#byId.keys()) {
      this.take(oldestId);
      return;
    }
  }

  /** Adds a dead letter that is stored already. */
  restore(entry: Entry, letter: LostEvent): void {
    entry.envelope.pack?.();
    this.#byId.set(entry.envelope.id, { entry, ...letter });
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
    if (entry !== undefined) this.#onChange(entry, undefined);
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
      .map(({ entry: { envelope, attempt }, ...failure }) => ({ envelope: toRecorded(envelope), attempt, ...failure }));
  }

  #evictOld(): void {
    const oldestAt = this.#clock.now() - this.#limits.maxDeadLetterAgeMs;
    for (const [id, { at }] of this.#byId) {
      if (at > oldestAt) return;
      this.take(id);
    }
  }
}
