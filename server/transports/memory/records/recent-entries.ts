import type { Entry } from './entry.js';

/** Number of entries: as many as events start in a turn of the event loop. */
const maxEntries = 256;

/**
 * Pending entries that were accepted last, whose payloads may be values. An event that ends soon needs no JSON, and a
 * backlog takes no more memory than its JSON.
 */
export class RecentEntries {
  readonly #entries: (Entry | undefined)[] = Array(maxEntries).fill(undefined);
  #next = 0;

  /** Adds an entry, and packs the payload of the oldest one if there are too many. */
  add(entry: Entry): void {
    this.#entries[this.#next]?.envelope.pack?.();
    this.#entries[this.#next] = entry;
    entry.recentIndex = this.#next;
    this.#next = this.#next + 1 === maxEntries ? 0 : this.#next + 1;
  }

  /** Removes an entry that has ended. */
  remove(entry: Entry): void {
    const { recentIndex } = entry;
    if (this.#entries[recentIndex] === entry) this.#entries[recentIndex] = undefined;
  }
}
