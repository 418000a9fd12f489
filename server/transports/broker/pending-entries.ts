import type { Clock } from '../clock.js';
import type { Envelope, Subscription } from '../delivery.js';
import type { StartLog } from '../start-log.js';
import { type AcceptanceOrder, type Entry, type EventFilter, matchesFilter } from './entry.js';
import { KeyedList } from './keyed-list.js';
import type { QueueSpill } from './queue-spill.js';
import { DelayQueue, WaitingList } from './queues.js';
import type { TypeStats } from './type-stats.js';

/** Slot of a handler that outlives its attempt. */
export interface OverdueSlot {
  readonly key: string | undefined;
}

/** Waiting entries of one type by priority. The keys of a type with limits per key take turns. */
export class WaitingEntries {
  readonly #list = new WaitingList<Entry>();
  /** Replaces the list of a type with limits per key. */
  #keyed: KeyedList<Entry> | undefined;
  readonly #spill: QueueSpill | undefined;
  readonly #forgetStarts: (key: string | undefined) => void;

  /** @param forgetStarts called when the starts of a key no longer count; with `undefined` for all keys */
  constructor(spill: QueueSpill | undefined, forgetStarts: (key: string | undefined) => void) {
    this.#spill = spill;
    this.#forgetStarts = forgetStarts;
  }

  /**
   * Sets the limits per key.
   *
   * @param running entries of the type that are running
   */
  limitKeys(perKey: Subscription['perKey'], running: () => readonly Entry[], overdue: Iterable<OverdueSlot>): void {
    if (perKey !== undefined && this.#keyed !== undefined) {
      this.#keyed.setLimits(perKey);
      return;
    }
    const isChanged = (perKey === undefined) !== (this.#keyed === undefined);
    // It may throw.
    if (isChanged) this.#spill?.regroup(perKey !== undefined);
    const waiting: Entry[] = [];
    if (perKey !== undefined) {
      for (let entry = this.#list.shift(); entry !== undefined; entry = this.#list.shift()) waiting.push(entry);
    } else if (this.#keyed !== undefined) {
      for (const entry of this.#keyed.items()) waiting.push(entry);
    }
    if (perKey === undefined && this.#keyed !== undefined) this.#forgetStarts(undefined);
    this.#keyed = perKey === undefined ? undefined : new KeyedList(perKey, this.#spill, this.#forgetStarts);
    if (this.#keyed !== undefined) {
      for (const entry of running()) this.#keyed.adopt(entry);
      for (const { key } of overdue) this.#keyed.addOverdue(key);
    }
    for (const entry of waiting) this.pushRead(entry);
    this.listSpilled();
  }

  /** An entry may be ready to start. */
  get hasReady(): boolean {
    if (this.#spill?.isDamaged === true) return false;
    if (this.#keyed !== undefined) return this.#keyed.hasReady;
    return this.#list.size > 0 || this.#spill?.hasWaiting === true;
  }

  /** An entry waits that needs no other entry to end first. */
  get hasWaiting(): boolean {
    if (this.#spill?.isDamaged === true) return false;
    if (this.#keyed !== undefined) return this.#keyed.hasWaiting;
    return this.#list.size > 0 || this.#spill?.hasWaiting === true;
  }

  /** Time of the next {@link promote}; infinite if none is needed. */
  get nextDueAt(): number {
    return this.#keyed?.nextDueAt ?? Number.POSITIVE_INFINITY;
  }

  /** Makes the keys ready whose rate allows a start. */
  promote(now: number): void {
    this.#keyed?.promote(now);
  }

  push(entry: Entry): void {
    if (this.#spill?.spillIfFull(entry) === true) this.#keyed?.listSpilled(entry.envelope.key);
    else this.pushRead(entry);
  }

  /** Adds an entry that memory has room for, or that was read from the storage. */
  pushRead(entry: Entry): void {
    if (this.#keyed === undefined) this.#list.push(entry, entry.envelope.priority);
    else this.#keyed.push(entry);
  }

  /** Adds an entry that was stored, behind those that were accepted before it. */
  restore(entry: Entry): void {
    const before = this.#spill === undefined ? [] : this.#spill.restoreBefore(entry);
    for (const each of before ?? []) this.pushRead(each);
    if (before === undefined) this.#keyed?.listSpilled(entry.envelope.key);
    else this.pushRead(entry);
  }

  /** Follows the spilled entries of all keys. */
  listSpilled(): void {
    for (const key of this.#spill?.keys ?? []) this.#keyed?.listSpilled(key);
  }

  /** Adds a released entry as the first of its key and priority. */
  unshift(entry: Entry): void {
    if (this.#keyed === undefined) this.#list.unshift(entry, entry.envelope.priority);
    else this.#keyed.unshift(entry);
  }

  /** Takes the next entry that the limits per key allow. */
  shift(clock: Clock): Entry | undefined {
    if (this.#keyed !== undefined) return this.#keyed.shift(clock.monotonic());
    if (this.#spill?.hasWaiting === true) {
      for (const entry of this.#spill.refill(undefined, this.#list.topPriority)) this.pushRead(entry);
    }
    return this.#list.shift();
  }

  /** Removes an entry in memory. */
  remove(entry: Entry, now: number): void {
    if (this.#keyed === undefined) this.#list.remove(entry);
    else this.#keyed.remove(entry, now);
  }

  /** Entries in memory, in no order. */
  items(): Iterable<Entry> {
    return this.#keyed === undefined ? this.#list.items() : this.#keyed.items();
  }

  /** Takes a slot of its key for a restored entry that had one. */
  hold(entry: Entry): void {
    this.#keyed?.hold(entry);
  }

  /** Counts a taken entry as no longer running. It holds its key until it ends. */
  pause(entry: Entry): void {
    this.#keyed?.pause(entry);
  }

  /** Counts a paused entry as running again; returns `false` if its key has to wait for its rate. */
  resume(entry: Entry, clock: Clock): boolean {
    const now = clock.monotonic();
    if (this.#keyed?.mayResume(entry, now) === false) return false;
    this.#keyed?.resume(entry, now);
    return true;
  }

  /** Starts of a key that its rate counts. */
  startsOf(key: string | undefined): StartLog | undefined {
    return this.#keyed?.startsOf(key);
  }

  /** Takes back a start that the rate of a key counts. Returns the starts of the key. */
  takeBackStart(entry: Entry, at: number): StartLog | undefined {
    return this.#keyed?.takeBackStart(entry, at);
  }

  restoreStarts(key: string, starts: StartLog, now: number): void {
    this.#keyed?.restoreStarts(key, starts, now);
  }

  /** Frees the slot of its key that an ended entry took. */
  release(entry: Entry, clock: Clock): void {
    this.#keyed?.release(entry, clock.monotonic());
  }

  addOverdue({ key }: OverdueSlot): void {
    this.#keyed?.addOverdue(key);
  }

  removeOverdue({ key }: OverdueSlot, now: number): void {
    this.#keyed?.removeOverdue(key, now);
  }
}

/** Waiting runs of one type that consumers with a lower version of the workflow cannot continue, oldest first. */
export class NewerRuns {
  readonly #entries = new Set<Entry>();

  get size(): number {
    return this.#entries.size;
  }

  /** Lowest version that takes one; infinite if there is none. */
  get lowestVersion(): number {
    let lowest = Number.POSITIVE_INFINITY;
    for (const { neededVersion = 0 } of this.#entries) lowest = Math.min(lowest, neededVersion);
    return lowest;
  }

  add(entry: Entry): void {
    this.#entries.add(entry);
  }

  /** Takes the first run that a version can continue. */
  take(version: number): Entry | undefined {
    for (const entry of this.#entries) {
      if ((entry.neededVersion ?? 0) > version) continue;
      this.#entries.delete(entry);
      return entry;
    }
    return undefined;
  }

  /** Returns `true` if the entry was one of them. */
  remove(entry: Entry): boolean {
    return this.#entries.delete(entry);
  }
}

/** Delayed entries of one type, among them those that wait in a debounce window. */
export class DelayedEntries {
  readonly #queue = new DelayQueue<Entry>();
  readonly #stats: TypeStats;
  readonly #spill: QueueSpill | undefined;
  #windows: DebounceWindows<Entry> | undefined;

  constructor(stats: TypeStats, spill: QueueSpill | undefined) {
    this.#stats = stats;
    this.#spill = spill;
  }

  setDebounce(debounce: Subscription['debounce']): void {
    this.#windows = debounce === undefined ? undefined : new DebounceWindows(debounce, this.#windows);
  }

  /** Due time of the first entry; infinite if there is none. */
  get nextDueAt(): number {
    return Math.min(
      this.#queue.nextDueAt ?? Number.POSITIVE_INFINITY,
      this.#spill?.nextDueAt ?? Number.POSITIVE_INFINITY,
    );
  }

  /** Time at which {@link shift} can return an entry; infinite if only an event of the hub changes it. */
  get nextWakeAt(): number {
    return Math.min(
      this.#queue.nextDueAt ?? Number.POSITIVE_INFINITY,
      this.#spill?.nextWakeAt ?? Number.POSITIVE_INFINITY,
    );
  }

  push(entry: Entry, dueAt: number): void {
    entry.dueAt = dueAt;
    this.#stats.delayed += 1;
    if (this.#spill !== undefined && !this.isDebounced(entry) && this.#spill.spillDelayedIfFull(entry, dueAt)) return;
    this.#queue.push(entry, dueAt);
  }

  /** Adds an entry that was read from the storage. */
  pushRead(entry: Entry, dueAt: number): void {
    this.#queue.push(entry, dueAt);
  }

  /** Reads the spilled entries that are due. Returns the time until which all that are due are in memory. */
  readDue(now: number): number {
    if (this.#spill === undefined) return now;
    const { entries, until } = this.#spill.readDue(now);
    for (const entry of entries) this.pushRead(entry, entry.dueAt ?? now);
    return until;
  }

  /** Removes and returns the first entry in memory if it is due at `until`. */
  shift(until: number): Entry | undefined {
    const entry = this.#queue.shift(until);
    if (entry !== undefined) this.#end(entry);
    return entry;
  }

  /** Returns `true` if the entry was delayed, and in memory. */
  remove(entry: Entry): boolean {
    const isRemoved = this.#queue.remove(entry);
    if (isRemoved) this.#end(entry);
    return isRemoved;
  }

  /** Entries in memory, in no order. */
  items(): Iterable<Entry> {
    return this.#queue.items();
  }

  /** Opens the debounce window of a new entry. Returns its end; `undefined` if the type is not debounced. */
  openWindow(entry: Entry, clock: Clock): number | undefined {
    return this.#windows?.open(entry, clock.monotonic());
  }

  /** Opens the debounce window of a restored entry again. */
  restoreWindow(entry: Entry, openedAt: number): void {
    this.#windows?.restore(entry, openedAt);
  }

  /** Returns `true` if the entry waits in a debounce window. */
  isDebounced(entry: Entry): boolean {
    return this.#windows?.find(entry.envelope.key) === entry;
  }

  /** Returns `true` if the event would replace the payload of an event that waits in its debounce window. */
  hasWindow(envelope: Envelope): boolean {
    return this.#windows?.find(envelope.key) !== undefined;
  }

  /**
   * Replaces the payload of the event that waits in the debounce window of the key, and extends the window.
   * Returns the waiting entry and its new due time; `undefined` if there is none.
   */
  debounce(envelope: Envelope, clock: Clock): { readonly entry: Entry; readonly dueAt: number } | undefined {
    const entry = this.#windows?.find(envelope.key);
    if (this.#windows === undefined || entry === undefined) return undefined;
    const { id, dedupe } = entry.envelope;
    entry.envelope = { ...envelope, body: envelope.body, id, dedupe };
    const dueAt = this.#windows.extend(entry, clock.monotonic());
    this.#queue.remove(entry);
    this.#queue.push(entry, dueAt);
    entry.dueAt = dueAt;
    this.#stats.countDeduplicated();
    return { entry, dueAt };
  }

  #end(entry: Entry): void {
    this.#windows?.close(entry);
    entry.dueAt = undefined;
    this.#stats.delayed -= 1;
    this.#stats.markChanged();
  }
}

/** Length of debounce windows. */
export interface Debounce {
  /** Milliseconds from the last event of a key until it runs. */
  readonly ms: number;
  /** Maximum number of milliseconds from the first event of a key until the last one runs. @default unlimited */
  readonly maxMs?: number | undefined;
}

/** Event that a window holds: it gets an envelope whose delay lasts until the window closes. */
interface Debounced {
  envelope: Envelope;
}

/** Debounce windows of one type: one item per key waits in each until no other item of the key arrives. */
class DebounceWindows<T extends Debounced> {
  readonly #byKey: Map<string | undefined, { readonly item: T; readonly openedAt: number }>;
  readonly #debounce: Debounce;

  /** @param earlier windows of an earlier subscription, which stay open */
  constructor(debounce: Debounce, earlier?: DebounceWindows<T>) {
    this.#debounce = debounce;
    this.#byKey = earlier === undefined ? new Map() : earlier.#byKey;
  }

  /** Returns the item that waits in the window of the key. */
  find(key: string | undefined): T | undefined {
    return this.#byKey.get(key)?.item;
  }

  /** Opens the window of the item's key. Returns the time at which it closes. */
  open(item: T, now: number): number {
    this.#byKey.set(item.envelope.key, { item, openedAt: now });
    return this.#closeTime(item, now, now);
  }

  /** Opens the window of an item that was opened at an earlier time. */
  restore(item: T, openedAt: number): void {
    this.#byKey.set(item.envelope.key, { item, openedAt });
  }

  /** Extends the window of the item's key. Returns the time at which it closes now. */
  extend(item: T, now: number): number {
    return this.#closeTime(item, now, this.#byKey.get(item.envelope.key)?.openedAt ?? now);
  }

  /** Closes the window of the item's key, if the item is in it. */
  close(item: T): void {
    const { key } = item.envelope;
    if (this.#byKey.get(key)?.item === item) this.#byKey.delete(key);
  }

  #closeTime(item: T, now: number, openedAt: number): number {
    const { envelope } = item;
    const { ms, maxMs = Number.POSITIVE_INFINITY } = this.#debounce;
    const closesAt = Math.min(now + Math.max(ms, envelope.delayMs), openedAt + maxMs);
    item.envelope = { ...envelope, body: envelope.body, delayMs: closesAt - openedAt };
    return closesAt;
  }
}

/** Finds pending entries of one type, those of the storage included. */
export class PendingReader {
  readonly #accepted: AcceptanceOrder;
  readonly #spill: QueueSpill | undefined;

  constructor(accepted: AcceptanceOrder, spill: QueueSpill | undefined) {
    this.#accepted = accepted;
    this.#spill = spill;
  }

  /** An entry is pending. */
  get hasPending(): boolean {
    return this.#accepted.oldest !== undefined || this.#spill?.hasPending === true;
  }

  /** Time at which the oldest entry was accepted. */
  get oldestAt(): number | undefined {
    return this.#spill === undefined ? this.#accepted.oldest?.acceptedAt : this.#spill.oldestPendingAt;
  }

  /** Returns the entries of an event or a request. */
  find(filter: EventFilter): readonly Entry[] {
    const inMemory = [...this.#inMemory()].filter(({ envelope }) => matchesFilter(filter, envelope));
    return [...inMemory, ...this.findSpilled(filter)];
  }

  /** Returns the entries of an event or a request that the storage alone has. */
  findSpilled(filter: EventFilter): readonly Entry[] {
    return this.#spill?.find(filter) ?? [];
  }

  /** Returns the number of entries of a request. */
  countOf(requestId: string): number {
    let count = this.#spill?.count(requestId) ?? 0;
    for (const { envelope } of this.#inMemory()) if (envelope.requestId === requestId) count += 1;
    return count;
  }

  /** Returns the entries that were accepted last, newest first. */
  newest(limit: number): readonly Entry[] {
    const newest: Entry[] = [];
    for (const entry of this.#accepted.newestFirst()) {
      if (newest.length === limit) break;
      newest.push(entry);
    }
    if (this.#spill === undefined) return newest;
    const position = ({ record }: Entry): number => record?.position ?? 0;
    return [...newest, ...this.#spill.inMemory(), ...this.#spill.find({ newest: limit })]
      .sort((a, b) => position(b) - position(a))
      .slice(0, limit);
  }

  *#inMemory(): Iterable<Entry> {
    yield* this.#accepted.newestFirst();
    yield* this.#spill?.inMemory() ?? [];
  }
}
