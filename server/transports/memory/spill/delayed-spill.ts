import type { Entry } from '../records/entry.js';
import type { SpillStore } from '../records/spill-store.js';
import type { StoredQueue } from '../records/stored-queue.js';
import type { ResidentEntries } from './resident-entries.js';

// Entries per read. Those that find no room among the waiting ones are spilled again.
const batchSize = 256;

/** Spilled delayed entries of one queue. They are due later than the delayed ones in memory. */
export class DelayedSpill {
  readonly #queue: StoredQueue;
  readonly #store: SpillStore;
  readonly #resident: ResidentEntries;
  readonly #onReady: () => void;
  /** Entries that are not stored yet. */
  readonly #unsaved = new Set<Entry>();
  #nextDueAt: number | undefined;
  /** Entries that were read are not stored as entries in memory yet. */
  #isMoving = false;

  /** @param onReady called when entries can be read that were due before */
  constructor(queue: StoredQueue, store: SpillStore, resident: ResidentEntries, onReady: () => void) {
    this.#queue = queue;
    this.#store = store;
    this.#resident = resident;
    this.#onReady = onReady;
  }

  /** Reads the extent of what is stored. */
  restore(): void {
    this.#nextDueAt = this.#firstDueAt();
  }

  get isEmpty(): boolean {
    return this.#nextDueAt === undefined;
  }

  /** Time at which the first entry is due, or earlier. */
  get nextDueAt(): number | undefined {
    return this.#store.isDamaged(this.#queue) ? undefined : this.#nextDueAt;
  }

  /** Time at which entries can be read; `undefined` if there are none, or `onReady` is called before. */
  get nextWakeAt(): number | undefined {
    return this.#isMoving ? undefined : this.nextDueAt;
  }

  /** Entries that are not stored yet. */
  get unsaved(): Iterable<Entry> {
    return this.#unsaved;
  }

  /** Returns `true` if the entry was among those that are not stored yet. */
  deleteUnsaved(entry: Entry): boolean {
    return this.#unsaved.delete(entry);
  }

  /** Spills an entry if memory has no room, or if others that are due earlier are spilled. */
  takes(entry: Entry, dueAt: number): boolean {
    const isBehind = this.#nextDueAt !== undefined && dueAt >= this.#nextDueAt;
    if (!(isBehind || this.#resident.isFull) || !this.#resident.canSpill(entry)) return false;
    this.#resident.spill(entry);
    this.#unsaved.add(entry);
    this.#nextDueAt = Math.min(dueAt, this.#nextDueAt ?? Number.POSITIVE_INFINITY);
    return true;
  }

  /**
   * Returns the next entries that are due, and the time until which no others are. The next ones can be read when these
   * are stored as entries in memory.
   */
  readDue(now: number): { readonly entries: readonly Entry[]; readonly until: number } {
    if (this.#isMoving || this.#nextDueAt === undefined || this.#nextDueAt > now) return { entries: [], until: now };
    const entries = this.#store.readDue(this.#queue, batchSize, this.#resident.skips) ?? [];
    for (const entry of entries) {
      entry.dueAt = Math.min(entry.dueAt ?? now, now);
      this.#resident.enter(entry);
      this.#store.unspill(this.#queue, entry);
    }
    this.#nextDueAt = this.#firstDueAt();
    const hasMore = this.#nextDueAt !== undefined && this.#nextDueAt <= now && !this.#store.isDamaged(this.#queue);
    // If the read failed, it is repeated when the file can be used.
    if (entries.length > 0 || hasMore) this.#waitUntilStored();
    return { entries, until: hasMore ? (entries.at(-1)?.dueAt ?? now) : now };
  }

  #waitUntilStored(): void {
    this.#isMoving = true;
    this.#store.afterStored(() => {
      this.#isMoving = false;
      this.#onReady();
    });
  }

  #firstDueAt(): number | undefined {
    const stored = this.#store.nextDueAt(this.#queue, this.#resident.skips) ?? Number.POSITIVE_INFINITY;
    const unsaved = [...this.#unsaved].map(({ dueAt }) => dueAt ?? stored);
    const first = Math.min(stored, ...unsaved);
    return first === Number.POSITIVE_INFINITY ? undefined : first;
  }
}
