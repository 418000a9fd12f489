import type { ErrorInfo } from '../../errors.js';
import type { DeadLetterRecord } from '../transport.js';
import type { Entry } from './type-queue.js';

interface DeadLetter {
  readonly entry: Entry;
  readonly at: number;
  readonly error: ErrorInfo;
}

/** Entries of one type that failed for good: the last ones, up to a capacity. */
export class DeadLetters {
  readonly #capacity: number;
  /** By the event's id, the oldest first. */
  readonly #letters = new Map<string, DeadLetter>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  keep(entry: Entry, error: ErrorInfo, now: number): void {
    if (this.#capacity === 0) return;
    this.#letters.set(entry.envelope.id, { entry, at: now, error });
    if (this.#letters.size <= this.#capacity) return;
    for (const oldest of this.#letters.keys()) {
      this.#letters.delete(oldest);
      return;
    }
  }

  find(id: string): Entry | undefined {
    return this.#letters.get(id)?.entry;
  }

  remove(id: string): void {
    this.#letters.delete(id);
  }

  /** Newest first. */
  latest(limit: number): DeadLetterRecord[] {
    return [...this.#letters.values()]
      .slice(-limit)
      .reverse()
      .map(({ entry: { envelope, attempt }, at, error }) => ({ envelope, at, attempt, error }));
  }
}
