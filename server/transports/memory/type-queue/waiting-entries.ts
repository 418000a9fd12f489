import type { Clock } from '../../clock.js';
import type { Subscription } from '../../transport.js';
import { KeyedList } from '../queues/keyed-list.js';
import { WaitingList } from '../queues/waiting-list.js';
import type { Entry } from '../records/entry.js';
import type { QueueSpill } from '../spill/queue-spill.js';

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

  constructor(spill: QueueSpill | undefined) {
    this.#spill = spill;
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
    this.#keyed = perKey === undefined ? undefined : new KeyedList(perKey, this.#spill);
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
    if (this.#spill?.takes(entry) === true) this.#keyed?.listSpilled(entry.envelope.key);
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
