import type { ErrorInfo } from '../../errors.js';
import type { DeadLetterRecord, Outcome } from '../transport.js';
import type { Entry } from './entry.js';

interface DeadLetter {
  readonly entry: Entry;
  readonly at: number;
  readonly error: ErrorInfo;
  readonly step: string | undefined;
}

/** The latest dead letters of one type in one service, up to a capacity. */
export class DeadLetters {
  readonly #capacity: number;
  /** By event id, oldest first. */
  readonly #byId = new Map<string, DeadLetter>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  add(entry: Entry, { error, step }: Extract<Outcome, { status: 'failed' }>, now: number): void {
    if (this.#capacity === 0) return;
    this.#byId.set(entry.envelope.id, { entry, at: now, error, step });
    if (this.#byId.size <= this.#capacity) return;
    for (const oldestId of this.#byId.keys()) {
      this.#byId.delete(oldestId);
      return;
    }
  }

  get size(): number {
    return this.#byId.size;
  }

  find(id: string): Entry | undefined {
    return this.#byId.get(id)?.entry;
  }

  /** Removes a dead letter and returns its entry; `undefined` if there is none. */
  take(id: string): Entry | undefined {
    const entry = this.#byId.get(id)?.entry;
    this.#byId.delete(id);
    return entry;
  }

  /** Returns at most `limit` dead letters, newest first. */
  latest(limit: number): DeadLetterRecord[] {
    return [...this.#byId.values()]
      .slice(-limit)
      .reverse()
      .map(({ entry: { envelope, attempt }, at, error, step }) => ({ envelope, at, attempt, error, step }));
  }
}
