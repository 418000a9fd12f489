import type { Entry } from './entry.js';
import type { EventFilter } from './event-filter.js';
import type { StoredQueue } from './stored-queue.js';

/** Spilled waiting entries that run one after the other. */
export interface ChainId {
  readonly priority: number;
  /** Key of the entries; `undefined` for those of all keys, or for those without one if keys take turns. */
  readonly key: string | undefined;
  /** Keys of the type take turns, so that each has chains of its own. */
  readonly isKeyed: boolean;
}

/** Stored entries of one chain. */
export interface ChainSize extends ChainId {
  readonly count: number;
  /** Turn of the first entry. */
  readonly firstTurn: number;
}

/** Turns of a chain, both ends excluded. */
export interface TurnRange {
  readonly after: number;
  readonly before: number;
}

/** Condition on stored entries: an id, a request, or the number of the newest ones. */
export type SpillFilter = EventFilter | { readonly newest: number };

/** Returns `true` if a stored entry is to be ignored, because the memory has a newer state of it. */
export type Skips = (position: number) => boolean;

/**
 * Storage of pending entries that have no room in memory. It reads what is stored; entries that are not stored yet are
 * with their queue.
 */
export interface SpillStore {
  /** Maximum number of pending entries in memory. */
  readonly maxInMemory: number;
  /** Number of pending entries in memory, of all queues that may spill. */
  readonly inMemory: number;
  /** Counts one more pending entry in memory. */
  admit(): void;
  /** Counts one pending entry less in memory. */
  release(): void;
  /** Makes the next transaction store an entry as one that is not in memory, by default with the last turn. */
  spill(queue: StoredQueue, entry: Entry, turn?: number): void;
  /** Makes the next transaction store the entry as one that is in memory. */
  unspill(queue: StoredQueue, entry: Entry): void;
  /** Stores what is not stored yet, and calls `fn` then. */
  afterStored(fn: () => void): void;
  /** Returns whether an entry of the queue cannot be used, so that none is read. */
  isDamaged(queue: StoredQueue): boolean;
  /** Returns the sizes of the stored chains of a queue, by the turns of their first entries. */
  chains(queue: StoredQueue, isKeyed: boolean): readonly ChainSize[];
  /** Returns the next entries of a chain, and fewer than `limit` only at its end; `undefined` if they cannot be read. */
  readChain(
    queue: StoredQueue,
    chain: ChainId,
    range: TurnRange,
    limit: number,
    skips: Skips,
  ): readonly Entry[] | undefined;
  /** Returns the delayed entries that are due, in the order of due times; `undefined` if they cannot be read. */
  readDue(queue: StoredQueue, limit: number, skips: Skips): readonly Entry[] | undefined;
  /** Returns the monotonic time at which the first delayed entry is due. */
  nextDueAt(queue: StoredQueue, skips: Skips): number | undefined;
  /** Returns the entries that match, newest first. */
  find(queue: StoredQueue, filter: SpillFilter, skips: Skips): readonly Entry[];
  /** Returns the number of entries of a request. */
  count(queue: StoredQueue, requestId: string, skips: Skips): number;
  /** Returns the time at which the oldest entry was accepted, and its position. */
  oldest(queue: StoredQueue, skips: Skips): { readonly position: number; readonly acceptedAt: number } | undefined;
}
