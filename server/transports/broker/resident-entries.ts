import type { AcceptanceOrder, Entry } from './entry.js';
import type { Skips, SpillStore, StoredQueue } from './journal.js';

// A copy of few entries costs more than the entries.
const minRemoved = 64;

/** Reactions of a consumer group to entries that leave memory or are read again. */
export interface SpillListener {
  left(entry: Entry): void;
  entered(entry: Entry): void;
  /** Called when delayed entries can be read that were due before. */
  ready(): void;
}

/** Pending entries of one queue that are in memory, among them those that left it before and were read again. */
export class ResidentEntries {
  readonly #queue: StoredQueue;
  readonly #store: SpillStore;
  readonly #accepted: AcceptanceOrder;
  readonly #listener: SpillListener;
  #fromStorage = new Set<Entry>();
  /** Entries of which the storage has an outdated state, by position. */
  #newer = new Map<number, Entry>();
  /** Number of entries removed from the two since they were copied. */
  #removed = 0;
  /** Ignores entries in the storage of which memory has a newer state. */
  readonly skips: Skips = (position) => this.#newer.has(position);

  constructor(queue: StoredQueue, store: SpillStore, accepted: AcceptanceOrder, listener: SpillListener) {
    this.#queue = queue;
    this.#store = store;
    this.#accepted = accepted;
    this.#listener = listener;
  }

  /** Pending entries that were read again, in no order. */
  get fromStorage(): ReadonlySet<Entry> {
    return this.#fromStorage;
  }

  /** The storage has an outdated state of an entry. */
  get hasNewer(): boolean {
    return this.#newer.size > 0;
  }

  /** Returns `true` if the entry that the storage has at the position has ended. */
  hasEnded(position: number): boolean {
    return this.#newer.get(position)?.ended === true;
  }

  /** Memory has no room for more entries. */
  get isFull(): boolean {
    return this.#store.inMemory > this.#store.maxInMemory;
  }

  /** Counts a pending entry in memory. */
  admit(entry: Entry): void {
    if (mayLeave(entry)) this.#store.admit();
  }

  /** Removes an entry that is no longer pending. */
  forget(entry: Entry): void {
    if (mayLeave(entry)) this.#store.release();
    if (this.#fromStorage.delete(entry)) this.#countRemoved();
    else this.#accepted.remove(entry);
  }

  /** Keeps an entry that becomes a run in memory, and has it stored so. */
  pin(entry: Entry): void {
    if (mayLeave(entry)) this.#store.release();
    this.#store.unspill(this.#queue, entry);
  }

  /** Returns `true` if the entry can wait in the storage alone. */
  canSpill(entry: Entry): boolean {
    return mayLeave(entry) && entry.keyHolder === undefined;
  }

  /** Makes an entry leave memory, by default with the last turn. */
  spill(entry: Entry, turn?: number): void {
    this.#store.spill(this.#queue, entry, turn);
    this.forget(entry);
    this.#listener.left(entry);
    if (entry.record?.table === 'spilled_events') this.#newer.set(entry.record.position, entry);
  }

  /** Adds an entry that was read again. */
  enter(entry: Entry): void {
    const { record } = entry;
    if (record === undefined) return;
    record.isSpilled = false;
    if (record.table === 'spilled_events') this.#newer.set(record.position, entry);
    this.#fromStorage.add(entry);
    this.admit(entry);
    this.#listener.entered(entry);
  }

  /** Follows the entry of a position whose state was stored, or which was deleted from the storage. */
  stored(position: number): void {
    if (this.#newer.delete(position)) this.#countRemoved();
  }

  /**
   * Copies the collections when as many entries left as they have. A map refers from each table that it outgrew to the
   * next one, so that once a table is in the old generation, all later ones and the entries that pass through them get
   * there too, and stay until a full collection.
   */
  #countRemoved(): void {
    this.#removed += 1;
    if (this.#removed < minRemoved || this.#removed < this.#fromStorage.size + this.#newer.size) return;
    this.#removed = 0;
    this.#fromStorage = new Set(this.#fromStorage);
    this.#newer = new Map(this.#newer);
  }
}

/** Runs stay in memory: their records are read at any time. */
function mayLeave({ checkpoints }: Entry): boolean {
  return checkpoints === undefined;
}
