import { type AcceptanceOrder, type Entry, matchesFilter } from './entry.js';
import type { ChainId, ChainSize, SpillFilter, SpillStore, StoredQueue, TurnRange } from './journal.js';
import { ResidentEntries, type SpillListener } from './resident-entries.js';

// Entries per read. Of a key fewer, because each key has its own.
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
  readonly #resident: ResidentEntries;
  readonly #delayed: DelayedSpill;
  #chains = new SpillChains(false);

  constructor(queue: StoredQueue, store: SpillStore, accepted: AcceptanceOrder, listener: SpillListener) {
    this.#queue = queue;
    this.#store = store;
    this.#accepted = accepted;
    this.#resident = new ResidentEntries(queue, store, accepted, listener);
    this.#delayed = new DelayedSpill(queue, store, this.#resident, () => listener.ready());
  }

  /** Reads the extent of what is stored. */
  restore(): void {
    this.regroup(this.#chains.isKeyed);
    this.#delayed.restore();
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
    return this.#delayed.nextDueAt;
  }

  /** Time at which delayed entries can be read; `undefined` if there are none, or the listener is called before. */
  get nextWakeAt(): number | undefined {
    return this.#delayed.nextWakeAt;
  }

  /** An entry is pending that was spilled, and read again or not. */
  get hasPending(): boolean {
    return this.#hasSpilled || this.#resident.fromStorage.size > 0;
  }

  /** A pending entry in memory that was read again. */
  get anyInMemory(): Entry | undefined {
    const [entry] = this.#resident.fromStorage;
    return entry;
  }

  /** Counts a pending entry in memory. */
  admit(entry: Entry): void {
    this.#resident.admit(entry);
  }

  /** Removes an entry in memory that is no longer pending. */
  forget(entry: Entry): void {
    this.#resident.forget(entry);
  }

  /** Keeps an entry that becomes a run in memory, and has it stored so. */
  pin(entry: Entry): void {
    this.#resident.pin(entry);
  }

  /** Spills a waiting entry if memory has no room, or if others of its chain are spilled. */
  spillIfFull(entry: Entry): boolean {
    const chain = this.#chains.find(entry);
    if ((chain === undefined && !this.#resident.isFull) || !this.#resident.canSpill(entry)) return false;
    this.#resident.spill(entry);
    const opened = chain ?? this.#chains.open(entry);
    // Entries of earlier turns were read from the storage.
    if (chain === undefined) opened.lastReadTurn = (entry.record?.turn ?? 0) - 1;
    opened.unsaved.add(entry);
    return true;
  }

  /** Spills a delayed entry if memory has no room, or if others that are due earlier are spilled. */
  spillDelayedIfFull(entry: Entry, dueAt: number): boolean {
    return this.#delayed.spillIfFull(entry, dueAt);
  }

  /**
   * Returns the next waiting entries of a key if they precede those in memory.
   *
   * @param headPriority priority of the first entry in memory; `undefined` if there is none
   */
  refill(key: string | undefined, headPriority: number | undefined): readonly Entry[] {
    const chain = this.#chains.first(key);
    if (chain === undefined || (headPriority !== undefined && headPriority >= chain.priority)) return [];
    return this.#readChain(chain, { after: chain.lastReadTurn, before: Number.POSITIVE_INFINITY });
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
    while (chain.stored > 0 && chain.minTurn < record.position) {
      if (this.#resident.isFull && this.#resident.canSpill(entry)) {
        this.#resident.spill(entry, record.position);
        chain.unsaved.add(entry);
        return undefined;
      }
      const read = this.#readChain(chain, { after: chain.lastReadTurn, before: record.position });
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
    return this.#delayed.readDue(now);
  }

  /** Reads an entry by its id; `undefined` if it is not spilled. */
  take(id: string): Entry | undefined {
    const entry = this.#takeUnsaved(id) ?? this.#takeStored(id);
    if (entry !== undefined) this.#resident.enter(entry);
    return entry;
  }

  /** Returns the spilled entries that match. */
  find(filter: SpillFilter): readonly Entry[] {
    if (!this.#hasSpilled) return [];
    const unsaved = [...this.#unsaved()].filter(
      ({ envelope }) => 'newest' in filter || matchesFilter(filter, envelope),
    );
    return [...unsaved, ...this.#store.find(this.#queue, filter, this.#resident.skips)];
  }

  count(requestId: string): number {
    if (!this.#hasSpilled) return 0;
    const unsaved = [...this.#unsaved()].filter(({ envelope }) => envelope.requestId === requestId);
    return unsaved.length + this.#store.count(this.#queue, requestId, this.#resident.skips);
  }

  /** Pending entries in memory that were read again, in no order. */
  inMemory(): Iterable<Entry> {
    return this.#resident.fromStorage;
  }

  /** Time at which the oldest pending entry was accepted. */
  get oldestPendingAt(): number | undefined {
    let first = this.#hasSpilled || this.#resident.hasNewer ? this.#oldestStored() : undefined;
    const { oldest } = this.#accepted;
    const inMemory = [...(oldest === undefined ? [] : [oldest]), ...this.#resident.fromStorage];
    for (const entry of [...inMemory, ...this.#unsaved()]) {
      const { record, acceptedAt } = entry;
      if (record === undefined || (first !== undefined && first.position < record.position)) continue;
      first = { position: record.position, acceptedAt };
    }
    return first?.acceptedAt;
  }

  /** Returns the oldest stored entry. It may be in memory again. */
  #oldestStored(): ReturnType<SpillStore['oldest']> {
    return this.#store.oldest(this.#queue, (position) => this.#resident.hasEnded(position));
  }

  /** Follows an entry that was stored, or deleted from the storage. */
  stored(entry: Entry): void {
    const { record } = entry;
    if (record === undefined) return;
    this.#resident.stored(record.position);
    if (!record.isSpilled || this.#delayed.deleteUnsaved(entry)) return;
    const chain = this.#chains.find(entry);
    if (chain?.unsaved.delete(entry) !== true) return;
    chain.stored += 1;
    chain.minTurn = Math.min(chain.minTurn, record.turn);
    // At the start, later ones may have been read before it was stored.
    chain.lastReadTurn = Math.min(chain.lastReadTurn, record.turn - 1);
  }

  get #hasSpilled(): boolean {
    return this.hasWaiting || !this.#delayed.isEmpty;
  }

  /** Maximum number of waiting entries of the next read. */
  get #batch(): number {
    const { inMemory, maxInMemory } = this.#store;
    if (!this.#chains.isKeyed) return Math.min(batchSize, maxInMemory);
    // There may be more keys than room: each has at least the entry that starts.
    return Math.max(1, Math.min(keyBatchSize, maxInMemory - inMemory));
  }

  *#unsaved(): Iterable<Entry> {
    for (const chain of this.#chains.all()) yield* chain.unsaved;
    yield* this.#delayed.unsaved;
  }

  #readChain(chain: Chain, range: TurnRange): readonly Entry[] {
    const entries = chain.stored > 0 ? this.#readStored(chain, range) : this.#readUnsaved(chain);
    for (const entry of entries) this.#resident.enter(entry);
    this.#chains.removeEmpty(chain);
    return entries;
  }

  #readStored(chain: Chain, range: TurnRange): readonly Entry[] {
    const limit = this.#batch;
    const entries = this.#store.readChain(this.#queue, chain, range, limit, this.#resident.skips);
    if (entries === undefined) return [];
    const isEnd = entries.length < limit && range.before === Number.POSITIVE_INFINITY;
    chain.stored = isEnd ? 0 : Math.max(0, chain.stored - entries.length);
    chain.lastReadTurn = entries.at(-1)?.record?.turn ?? chain.lastReadTurn;
    chain.minTurn = entries.length < limit ? Math.max(chain.minTurn, range.before) : chain.lastReadTurn + 1;
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
      this.#delayed.deleteUnsaved(entry);
      this.#store.unspill(this.#queue, entry);
      return entry;
    }
    return undefined;
  }

  #takeStored(id: string): Entry | undefined {
    if (!this.#hasSpilled) return undefined;
    const [entry] = this.#store.find(this.#queue, { id }, this.#resident.skips);
    const chain = entry === undefined || entry.dueAt !== undefined ? undefined : this.#chains.find(entry);
    if (chain !== undefined) {
      chain.stored -= 1;
      this.#chains.removeEmpty(chain);
    }
    return entry;
  }
}

/** Spilled waiting entries of one priority, and of one key if keys take turns. */
class Chain implements ChainId {
  readonly priority: number;
  readonly key: string | undefined;
  readonly isKeyed: boolean;
  /** Number of stored entries that are not in memory. */
  stored: number;
  /** Entries that are not stored yet: the last ones of the chain. */
  readonly unsaved: Set<Entry> = new Set();
  /** Turn of the last entry that was read. */
  lastReadTurn = 0;
  /** Lower bound of the turns of the stored entries. */
  minTurn: number;

  constructor({ priority, key, isKeyed }: ChainId, stored: number, minTurn: number) {
    this.priority = priority;
    this.key = key;
    this.isKeyed = isKeyed;
    this.stored = stored;
    this.minTurn = minTurn;
  }

  get isEmpty(): boolean {
    return this.stored === 0 && this.unsaved.size === 0;
  }
}

/** Chains of a queue that have spilled entries. */
class SpillChains {
  readonly isKeyed: boolean;
  /** The chains of each key by descending priority; all under `undefined` if keys do not take turns. */
  readonly #byKey = new Map<string | undefined, Chain[]>();

  constructor(isKeyed: boolean, sizes: readonly ChainSize[] = []) {
    this.isKeyed = isKeyed;
    for (const size of sizes) this.#add(new Chain(size, size.count, size.firstTurn));
  }

  get isEmpty(): boolean {
    return this.#byKey.size === 0;
  }

  /** Keys with spilled entries. */
  get keys(): Iterable<string | undefined> {
    return this.#byKey.keys();
  }

  /** Returns the chain of an entry; `undefined` if it has no spilled entries. */
  find({ envelope: { key, priority } }: Entry): Chain | undefined {
    return this.#byKey.get(this.#keyOf(key))?.find((chain) => chain.priority === priority);
  }

  /** Returns the chain of an entry, which is created if it does not exist. */
  open(entry: Entry): Chain {
    const { key, priority } = entry.envelope;
    return (
      this.find(entry) ??
      this.#add(new Chain({ priority, key: this.#keyOf(key), isKeyed: this.isKeyed }, 0, Number.POSITIVE_INFINITY))
    );
  }

  /** Returns the chain of a key that is next. */
  first(key: string | undefined): Chain | undefined {
    return this.#byKey.get(key)?.[0];
  }

  /** Removes a chain without entries. */
  removeEmpty(chain: Chain): void {
    if (!chain.isEmpty) return;
    const others = this.#byKey.get(chain.key)?.filter((other) => other !== chain) ?? [];
    if (others.length === 0) this.#byKey.delete(chain.key);
    else this.#byKey.set(chain.key, others);
  }

  *all(): Iterable<Chain> {
    for (const chains of this.#byKey.values()) yield* chains;
  }

  #keyOf(key: string | undefined): string | undefined {
    return this.isKeyed ? key : undefined;
  }

  #add(chain: Chain): Chain {
    const chains = [...(this.#byKey.get(chain.key) ?? []), chain];
    this.#byKey.set(
      chain.key,
      chains.sort((a, b) => b.priority - a.priority),
    );
    return chain;
  }
}

// Entries per read. Those that find no room among the waiting ones are spilled again.
const dueBatchSize = 256;

/** Spilled delayed entries of one queue. They are due later than the delayed ones in memory. */
class DelayedSpill {
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
  spillIfFull(entry: Entry, dueAt: number): boolean {
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
    const entries = this.#store.readDue(this.#queue, dueBatchSize, this.#resident.skips) ?? [];
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
