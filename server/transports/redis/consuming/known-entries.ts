import { readArray, readOptional, readString } from '../scripts/reply.js';

/** Entries of a run that its delivery knows, in the order of recording. */
export class KnownEntries {
  /** Values that this delivery records. Redis does not send them back. */
  readonly #own = new Map<string, string>();
  readonly #onRecorded: (key: string, value: string) => void;
  #count: number;

  constructor(count: number, onRecorded: (key: string, value: string) => void) {
    this.#count = count;
    this.#onRecorded = onRecorded;
  }

  get count(): number {
    return this.#count;
  }

  addOwn(key: string, value: string): void {
    this.#own.set(key, value);
  }

  /** Adds the entries of a reply that are new. Replies overlap, because several requests are under way. */
  add(from: number, reply: unknown): void {
    const flat = readArray(reply);
    for (let i = 0; i + 1 < flat.length; i += 2) {
      if (from + i / 2 !== this.#count) continue;
      const key = readString(flat[i]);
      const value = readOptional(flat[i + 1], readString) ?? this.#own.get(key) ?? '';
      this.#own.delete(key);
      this.#count += 1;
      this.#onRecorded(key, value);
    }
  }
}
