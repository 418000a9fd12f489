import type { AcceptanceOrder } from '../queues/acceptance-order.js';
import type { Entry } from '../records/entry.js';
import type { StoredQueue } from '../records/stored-queue.js';
import { type Chain, SpillChains } from './spill-chains.js';
import type { SpillFilter, SpillStore, TurnRange } from './spill-store.js';

/** Reactions of a consumer group to entries that leave memory or are read again. */
export interface SpillListener {
  left(entry: Entry): void;
  entered(entry: Entry): void;
  /** Called when delayed entries can be read that were due before. */
  ready(): void;
}

// Entries per read. Of a key fewer, because each key has its own. Delayed entries that find no room are spilled again.
const batchSize = 256;
const keyBatchSize = 16;

/**
 * Pending entries of one queue that are in the storage alone. Of each chain, the first entries are in memory and the
 * others in the storage, so that entries start in the same order as if all were in memory. Of the delayed entries, those
 * that are due later are in the storage.
 */
export class QueueSpill {
  readonly #queue: StoredQueue;
  readonly #store: SpillStore;
  readonly #accepted: AcceptanceOrder;
  readonly #listener: SpillListener;
  #chains = new SpillChains(false);
  /** Delayed entries that are not stored yet. */
  readonly #unsavedDelayed = new Set<Entry>();
  #nextDueAt: number | undefined;
  #isMoving = false;
  /** Pending entries in memory that were read again. */
  readonly #read = new Set<Entry>();
  /** Entries of which the storage has an outdated state, by position. */
  readonly #newer = new Map<number, Entry>();
  readonly #skips = (position: number): boolean => this.#newer.has(position);

  constructor(queue: StoredQueue, store: SpillStore, accepted: AcceptanceOrder, listener: SpillListener) {
    this.#queue = queue;
    this.#store = store;
    this.#accepted = accepted;
    this.#listener = listener;
  }

  /** Reads the extent of what is stored. */
  restore(): void {
    this.regroup(this.#chains.isKeyed);
    this.#nextDueAt = this.#firstDueAt();
  }

  /** Builds the chains again for a type whose keys begin or cease to take turns. */
  regroup(isKeyed: boolean): void {
    const unsaved = [...this.#chains.all()].flatMap((chain) => [...chain.unsaved]);
    // Counts what was read and has not ended, too. A read that finds less than expected corrects it.
    this.#chains = new SpillChains(isKeyed, this.#store.chains(this.#queue, isKeyed));
    for (const entry of unsaved) this.#chains.open(entry).unsaved.add(entry);
  }

  /** An entry cannot be used, so that the queue stops. */
  get isDamaged(): boolean {
    return this.#store.isDamaged(this.#queue);
  }

  get hasWaiting(): boolean {
    return !this.#chains.isEmpty;
  }

  /** Returns `true` if an entry of the key waits; of any key if keys do not take turns. */
  hasKey(key: string | undefined): boolean {
    return this.#chains.first(key) !== undefined;
  }

  /** Keys with waiting entries. */
  get keys(): Iterable<string | undefined> {
    return this.#chains.keys;
  }

  /** Time at which the first spilled delayed entry is due, or earlier. */
  get nextDueAt(): number | undefined {
    return this.isDamaged ? undefined : this.#nextDueAt;
  }

  /** Time at which delayed entries can be read; `undefined` if there are none, or the listener is called before. */
  get nextWakeAt(): number | undefined {
    return this.#isMoving ? undefined : this.nextDueAt;
  }

  /** An entry is pending that was spilled, and read again or not. */
  get hasPending(): boolean {
    return this.#hasSpilled || this.#read.size > 0;
  }

  /** A pending entry in memory that was read again. */
  get anyInMemory(): Entry | undefined {
    const [entry] = this.#read;
    return entry;
  }

  /** Counts a pending entry in memory. */
  admit(entry: Entry): void {
    if (isSpillable(entry)) this.#store.inMemory += 1;
  }

  /** Removes an entry in memory that is no longer pending. */
  forget(entry: Entry): void {
    if (isSpillable(entry)) this.#store.inMemory -= 1;
    if (!this.#read.delete(entry)) this.#accepted.remove(entry);
  }

  /** Keeps an entry that becomes a run in memory, and has it stored so. */
  pin(entry: Entry): void {
    if (isSpillable(entry)) this.#store.inMemory -= 1;
    this.#store.unspill(this.#queue, entry);
  }

  /** Spills a waiting entry if memory has no room, or if others of its chain are spilled. */
  takes(entry: Entry): boolean {
    const chain = this.#chains.find(entry);
    if ((chain === undefined && !this.#isFull) || !isSpillable(entry) || entry.keyHolder !== undefined) return false;
    this.#store.spill(this.#queue, entry);
    this.#leave(entry);
    const opened = chain ?? this.#chains.open(entry);
    // What the storage has of earlier turns was read.
    if (chain === undefined) opened.lastTurn = (entry.record?.turn ?? 0) - 1;
    opened.unsaved.add(entry);
    return true;
  }

  /** Spills a delayed entry if memory has no room, or if others that are due earlier are spilled. */
  takesDelayed(entry: Entry, dueAt: number): boolean {
    const isBehind = this.#nextDueAt !== undefined && dueAt >= this.#nextDueAt;
    if (!(isBehind || this.#isFull) || !isSpillable(entry) || entry.keyHolder !== undefined) return false;
    this.#store.spill(this.#queue, entry);
    this.#leave(entry);
    this.#unsavedDelayed.add(entry);
    this.#nextDueAt = Math.min(dueAt, this.#nextDueAt ?? Number.POSITIVE_INFINITY);
    return true;
  }

  /**
   * Returns the next waiting entries of a key if they precede those in memory.
   *
   * @param headPriority priority of the first entry in memory; `undefined` if there is none
   */
  refill(key: string | undefined, headPriority: number | undefined): readonly Entry[] {
    const chain = this.#chains.first(key);
    if (chain === undefined || (headPriority !== undefined && headPriority >= chain.priority)) return [];
    return this.#readChain(chain, { after: chain.lastTurn, before: Number.POSITIVE_INFINITY });
  }

  /**
   * Returns the waiting entries that precede an entry of the file at its start; `undefined` if memory has no room for
   * them, so that the entry was spilled too.
   */
  restoreBefore(entry: Entry): readonly Entry[] | undefined {
    const chain = this.#chains.find(entry);
    const { record } = entry;
    if (chain === undefined || record === undefined) return [];
    const before: Entry[] = [];
    while (chain.stored > 0 && chain.nextTurn < record.position) {
      if (this.#isFull && isSpillable(entry) && entry.keyHolder === undefined) {
        this.#store.spill(this.#queue, entry, record.position);
        this.#leave(entry);
        chain.unsaved.add(entry);
        return undefined;
      }
      const read = this.#readChain(chain, { after: chain.lastTurn, before: record.position });
      if (read.length === 0) break;
      before.push(...read);
    }
    return before;
  }

  /**
   * Returns the next delayed entries that are due, and the time until which no others are. The next ones can be read
   * when these are stored as entries in memory.
   */
  readDue(now: number): { readonly entries: readonly Entry[]; readonly until: number } {
    if (this.#isMoving || this.#nextDueAt === undefined || this.#nextDueAt > now) return { entries: [], until: now };
    const entries = this.#store.readDue(this.#queue, batchSize, this.#skips) ?? [];
    for (const entry of entries) {
      entry.dueAt = Math.min(entry.dueAt ?? now, now);
      this.#enter(entry);
      this.#store.unspill(this.#queue, entry);
    }
    this.#nextDueAt = this.#firstDueAt();
    const hasMore = this.#nextDueAt !== undefined && this.#nextDueAt <= now && !this.isDamaged;
    // If the read failed, it is repeated when the file can be used.
    if (entries.length > 0 || hasMore) this.#waitUntilStored();
    return { entries, until: hasMore ? (entries.at(-1)?.dueAt ?? now) : now };
  }

  /** Reads an entry by its id; `undefined` if it is not spilled. */
  take(id: string): Entry | undefined {
    const entry = this.#takeUnsaved(id) ?? this.#takeStored(id);
    if (entry !== undefined) this.#enter(entry);
    return entry;
  }

  /** Returns the spilled entries that match. */
  find(filter: SpillFilter): readonly Entry[] {
    if (!this.#hasSpilled) return [];
    const unsaved = [...this.#unsaved()].filter(
      ({ envelope }) => 'newest' in filter || matches(filter, envelope.id, envelope.requestId),
    );
    return [...unsaved, ...this.#store.find(this.#queue, filter, this.#skips)];
  }

  count(requestId: string): number {
    if (!this.#hasSpilled) return 0;
    const unsaved = [...this.#unsaved()].filter(({ envelope }) => envelope.requestId === requestId);
    return unsaved.length + this.#store.count(this.#queue, requestId, this.#skips);
  }

  /** Pending entries in memory that were read again, in no order. */
  inMemory(): Iterable<Entry> {
    return this.#read;
  }

  /** Time at which the oldest pending entry was accepted. */
  get oldestPendingAt(): number | undefined {
    let first = this.#hasSpilled || this.#newer.size > 0 ? this.#oldestStored() : undefined;
    const { oldest } = this.#accepted;
    for (const entry of [...(oldest === undefined ? [] : [oldest]), ...this.#read, ...this.#unsaved()]) {
      const { record, acceptedAt } = entry;
      if (record === undefined || (first !== undefined && first.position < record.position)) continue;
      first = { position: record.position, acceptedAt };
    }
    return first?.acceptedAt;
  }

  /** Returns the oldest stored entry. It may be in memory again. */
  #oldestStored(): ReturnType<SpillStore['oldest']> {
    return this.#store.oldest(this.#queue, (position) => this.#newer.get(position)?.ended === true);
  }

  /** Follows an entry that was stored, or deleted from the storage. */
  stored(entry: Entry): void {
    const { record } = entry;
    if (record === undefined) return;
    this.#newer.delete(record.position);
    if (!record.isSpilled || this.#unsavedDelayed.delete(entry)) return;
    const chain = this.#chains.find(entry);
    if (chain?.unsaved.delete(entry) !== true) return;
    chain.stored += 1;
    chain.nextTurn = Math.min(chain.nextTurn, record.turn);
    // At the start, later ones may have been read before it was stored.
    chain.lastTurn = Math.min(chain.lastTurn, record.turn - 1);
  }

  get #hasSpilled(): boolean {
    return this.hasWaiting || this.#nextDueAt !== undefined;
  }

  get #isFull(): boolean {
    return this.#store.inMemory > this.#store.maxInMemory;
  }

  /** Maximum number of waiting entries of the next read. */
  get #batch(): number {
    const { inMemory, maxInMemory } = this.#store;
    if (!this.#chains.isKeyed) return Math.min(batchSize, maxInMemory);
    // There may be more keys than room: each has at least the entry that starts.
    return Math.max(1, Math.min(keyBatchSize, maxInMemory - inMemory));
  }

  #waitUntilStored(): void {
    this.#isMoving = true;
    this.#store.afterStored(() => {
      this.#isMoving = false;
      this.#listener.ready();
    });
  }

  #firstDueAt(): number | undefined {
    const stored = this.#store.nextDueAt(this.#queue, this.#skips) ?? Number.POSITIVE_INFINITY;
    const unsaved = [...this.#unsavedDelayed].map(({ dueAt }) => dueAt ?? stored);
    const first = Math.min(stored, ...unsaved);
    return first === Number.POSITIVE_INFINITY ? undefined : first;
  }

  *#unsaved(): Iterable<Entry> {
    for (const chain of this.#chains.all()) yield* chain.unsaved;
    yield* this.#unsavedDelayed;
  }

  #readChain(chain: Chain, range: TurnRange): readonly Entry[] {
    const entries = chain.stored > 0 ? this.#readStored(chain, range) : this.#readUnsaved(chain);
    for (const entry of entries) this.#enter(entry);
    this.#chains.removeEmpty(chain);
    return entries;
  }

  #readStored(chain: Chain, range: TurnRange): readonly Entry[] {
    const limit = this.#batch;
    const entries = this.#store.readChain(this.#queue, chain, range, limit, this.#skips);
    if (entries === undefined) return [];
    const isEnd = entries.length < limit && range.before === Number.POSITIVE_INFINITY;
    chain.stored = isEnd ? 0 : Math.max(0, chain.stored - entries.length);
    chain.lastTurn = entries.at(-1)?.record?.turn ?? chain.lastTurn;
    chain.nextTurn = entries.length < limit ? Math.max(chain.nextTurn, range.before) : chain.lastTurn + 1;
    return entries;
  }

  #readUnsaved(chain: Chain): readonly Entry[] {
    const entries = [...chain.unsaved].slice(0, this.#batch);
    for (const entry of entries) {
      chain.unsaved.delete(entry);
      this.#store.unspill(this.#queue, entry);
    }
    return entries;
  }

  #takeUnsaved(id: string): Entry | undefined {
    for (const entry of this.#unsaved()) {
      if (entry.envelope.id !== id) continue;
      const chain = this.#chains.find(entry);
      chain?.unsaved.delete(entry);
      if (chain !== undefined) this.#chains.removeEmpty(chain);
      this.#unsavedDelayed.delete(entry);
      this.#store.unspill(this.#queue, entry);
      return entry;
    }
    return undefined;
  }

  #takeStored(id: string): Entry | undefined {
    if (!this.#hasSpilled) return undefined;
    const [entry] = this.#store.find(this.#queue, { id }, this.#skips);
    const chain = entry === undefined || entry.dueAt !== undefined ? undefined : this.#chains.find(entry);
    if (chain !== undefined) {
      chain.stored -= 1;
      this.#chains.removeEmpty(chain);
    }
    return entry;
  }

  #leave(entry: Entry): void {
    this.forget(entry);
    this.#listener.left(entry);
    if (entry.record?.table === 'spilled_events') this.#newer.set(entry.record.position, entry);
  }

  #enter(entry: Entry): void {
    const { record } = entry;
    if (record === undefined) return;
    record.isSpilled = false;
    if (record.table === 'spilled_events') this.#newer.set(record.position, entry);
    this.#read.add(entry);
    this.admit(entry);
    this.#listener.entered(entry);
  }
}

/** Runs stay in memory: their records are read at any time. */
function isSpillable({ checkpoints }: Entry): boolean {
  return checkpoints === undefined;
}

function matches(filter: { id: string } | { requestId: string }, id: string, requestId: string): boolean {
  return 'id' in filter ? filter.id === id : filter.requestId === requestId;
}
