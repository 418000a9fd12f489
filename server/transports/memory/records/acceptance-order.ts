import type { Entry } from './entry.js';

/** Pending entries of a type in the order of acceptance: a linked list, because an entry may end before older ones. */
export class AcceptanceOrder {
  #oldest: Entry | undefined;
  #newest: Entry | undefined;

  get oldest(): Entry | undefined {
    return this.#oldest;
  }

  /** Entries from the newest to the oldest. */
  *newestFirst(): Iterable<Entry> {
    for (let entry = this.#newest; entry !== undefined; entry = entry.older) yield entry;
  }

  add(entry: Entry): void {
    entry.older = this.#newest;
    if (this.#newest === undefined) this.#oldest = entry;
    else this.#newest.newer = entry;
    this.#newest = entry;
  }

  /** Removes an entry that was added. */
  remove(entry: Entry): void {
    const { older, newer } = entry;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    entry.older = undefined;
    entry.newer = undefined;
  }
}
