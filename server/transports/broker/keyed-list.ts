import type { RateLimit } from '../delivery.js';
import { StartLog } from '../start-log.js';
import { DelayQueue, Deque } from './queues.js';

/** Limits of each key. */
export interface KeyLimits {
  /** Maximum number of items of a key that are taken and not released. @default unlimited */
  readonly concurrency?: number | undefined;
  /** Limit on the times an item of a key is taken. @default unlimited */
  readonly rate?: RateLimit | undefined;
}

/** Items of keys that are not in memory. */
export interface SpilledItems<T> {
  /** Returns `true` if the key has any. */
  hasKey(key: string | undefined): boolean;
  /** Returns the next items of a key if they precede one of a priority. */
  refill(key: string | undefined, headPriority: number | undefined): readonly T[];
}

/**
 * Waiting items with limits per key. Keys take turns, so that no key waits for another. Within a key, items are taken by
 * priority, then first in first out. A key takes memory while it has items, and until its rate forgets its starts.
 */
export class KeyedList<T extends Keyed> {
  readonly #lines = new Map<string | undefined, KeyLine<T>>();
  readonly #ready = new Deque<KeyLine<T>>();
  readonly #blocked = new DelayQueue<KeyLine<T>>();
  // Empty lines whose starts still count, in the order in which they were emptied.
  readonly #resting = new Set<KeyLine<T>>();
  #sweepAt: number | undefined;
  readonly #spilled: SpilledItems<T> | undefined;
  readonly #onForgotten: (key: string) => void;
  #limits: KeyLimits;

  /**
   * @param spilled items that are not in memory; none by default
   * @param onForgotten called when the starts of a key no longer count
   */
  constructor(limits: KeyLimits, spilled?: SpilledItems<T>, onForgotten: (key: string) => void = () => {}) {
    this.#limits = limits;
    this.#spilled = spilled;
    this.#onForgotten = onForgotten;
  }

  /** Number of keys in memory. */
  get keys(): number {
    return this.#lines.size;
  }

  /** An item may be ready to be taken. */
  get hasReady(): boolean {
    return this.#ready.size > 0;
  }

  /** An item is ready, or will be with time alone. */
  get hasWaiting(): boolean {
    return this.#ready.size > 0 || this.#blocked.nextDueAt !== undefined;
  }

  /** Time of the next {@link promote}; `undefined` if none is needed. */
  get nextDueAt(): number | undefined {
    const times = [this.#blocked.nextDueAt, this.#sweepAt].filter((time) => time !== undefined);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  setLimits(limits: KeyLimits): void {
    this.#limits = limits;
    for (const line of this.#lines.values()) {
      const rate = this.#rateOf(line);
      if (rate !== undefined) line.starts?.setRate(rate);
      this.#unblock(line);
    }
  }

  /** Returns the starts of a key that its rate counts. */
  startsOf(key: string | undefined): StartLog | undefined {
    return this.#lines.get(key)?.starts;
  }

  /** Sets the starts of a key that were counted before the list existed. */
  restoreStarts(key: string, starts: StartLog, now: number): void {
    const line = this.#line(key);
    const rate = this.#rateOf(line);
    if (rate !== undefined) starts.setRate(rate);
    line.starts = starts;
    this.#listOrRest(line, now);
  }

  /** Takes back the start of an item that was taken. Returns the starts of its key without it. */
  takeBackStart({ envelope: { key } }: T, at: number): StartLog | undefined {
    const line = this.#lines.get(key);
    if (line?.starts === undefined) return undefined;
    line.starts.uncountStart(at);
    this.#unblock(line);
    return line.starts;
  }

  push(item: T): void {
    const line = this.#line(item.envelope.key);
    if (item.keyHolder === this) line.resume(item, false);
    else line.push(item);
    this.#list(line);
  }

  /** Adds a released item, before all others of the key if it holds the key. */
  unshift(item: T): void {
    const line = this.#line(item.envelope.key);
    if (item.keyHolder === this) line.resume(item, true);
    else line.push(item);
    this.#list(line);
  }

  /** Follows an item of a key that waits and is not in memory. */
  listSpilled(key: string | undefined): void {
    this.#list(this.#line(key));
  }

  /** Takes the next item that the limits allow. */
  shift(now: number): T | undefined {
    for (let line = this.#ready.shift(); line !== undefined; line = this.#ready.shift()) {
      line.isReady = false;
      if (!this.#hasNext(line)) continue;
      const rate = this.#rateOf(line);
      const openAt = rate === undefined ? now : (line.starts?.openAt ?? now);
      if (openAt > now) {
        line.isBlocked = true;
        this.#blocked.push(line, openAt);
        continue;
      }
      if (!line.hasResumed) this.#refill(line);
      const item = line.shift();
      if (item === undefined) {
        // The spilled items cannot be read now, or there are none.
        this.#listOrRest(line, now);
        return undefined;
      }
      if (item.keyHolder !== this) line.held += 1;
      item.keyHolder = this;
      line.running += 1;
      if (rate !== undefined) line.countStart(now, rate);
      this.#list(line);
      return item;
    }
    return undefined;
  }

  /** Counts a taken item as no longer running. It holds its key until it is released. */
  pause(item: T): void {
    if (item.keyHolder !== this) return;
    const line = this.#line(item.envelope.key);
    line.running -= 1;
    this.#list(line);
  }

  /** The rate allows a start of an item that was paused. */
  mayResume(item: T, now: number): boolean {
    const line = this.#line(item.envelope.key);
    return this.#rateOf(line) === undefined || (line.starts?.openAt ?? now) <= now;
  }

  /** Counts an item that was paused as running again. */
  resume(item: T, now: number): void {
    if (item.keyHolder !== this) return;
    const line = this.#line(item.envelope.key);
    line.running += 1;
    const rate = this.#rateOf(line);
    if (rate !== undefined) line.countStart(now, rate);
  }

  /** Frees the slot of an item that ended, after {@link pause} if it was taken. */
  release(item: T, now: number): void {
    if (item.keyHolder !== this) return;
    item.keyHolder = undefined;
    const line = this.#line(item.envelope.key);
    line.held -= 1;
    this.#listOrRest(line, now);
  }

  /** Counts an item that was taken before the list existed. */
  adopt(item: T): void {
    const line = this.#line(item.envelope.key);
    line.held += 1;
    line.running += 1;
    item.keyHolder = this;
  }

  /** Counts an item that was taken and waits again before the list existed. */
  hold(item: T): void {
    this.#line(item.envelope.key).held += 1;
    item.keyHolder = this;
  }

  /** Takes a slot of a key for work that goes on after its item was released or waits again. */
  addOverdue(key: string | undefined): void {
    this.#line(key).overdue += 1;
  }

  removeOverdue(key: string | undefined, now: number): void {
    const line = this.#line(key);
    line.overdue -= 1;
    this.#listOrRest(line, now);
  }

  /** Removes an item that waits. */
  remove(item: T, now: number): void {
    const line = this.#line(item.envelope.key);
    line.remove(item);
    if (this.#isEmpty(line)) this.#rest(line, now);
  }

  /** Makes the keys ready whose rate allows a start, and forgets those that no longer matter. */
  promote(now: number): void {
    for (let line = this.#blocked.shift(now); line !== undefined; line = this.#blocked.shift(now)) {
      line.isBlocked = false;
      this.#list(line);
    }
    if (this.#sweepAt !== undefined && this.#sweepAt <= now) this.#sweep(now);
  }

  /** All waiting items, in no order. */
  *items(): Iterable<T> {
    for (const line of this.#lines.values()) yield* line.items();
  }

  #line(key: string | undefined): KeyLine<T> {
    let line = this.#lines.get(key);
    if (line === undefined) {
      line = new KeyLine(key);
      this.#lines.set(key, line);
    }
    this.#resting.delete(line);
    return line;
  }

  #list(line: KeyLine<T>): void {
    if (line.isReady || line.isBlocked || !this.#hasNext(line)) return;
    line.isReady = true;
    this.#ready.push(line);
  }

  #listOrRest(line: KeyLine<T>, now: number): void {
    this.#list(line);
    if (this.#isEmpty(line)) this.#rest(line, now);
  }

  #hasNext(line: KeyLine<T>): boolean {
    return line.hasNext(this.#concurrencyOf(line), this.#spilled?.hasKey(line.key) === true);
  }

  #isEmpty(line: KeyLine<T>): boolean {
    return line.isEmpty && this.#spilled?.hasKey(line.key) !== true;
  }

  #refill(line: KeyLine<T>): void {
    for (const item of this.#spilled?.refill(line.key, line.topPriority) ?? []) line.push(item);
  }

  #unblock(line: KeyLine<T>): void {
    if (line.isBlocked) this.#blocked.remove(line);
    line.isBlocked = false;
    this.#list(line);
  }

  #concurrencyOf({ key }: KeyLine<T>): number {
    return key === undefined ? Number.POSITIVE_INFINITY : (this.#limits.concurrency ?? Number.POSITIVE_INFINITY);
  }

  #rateOf({ key }: KeyLine<T>): RateLimit | undefined {
    return key === undefined ? undefined : this.#limits.rate;
  }

  #rest(line: KeyLine<T>, now: number): void {
    const rate = this.#rateOf(line);
    if (rate === undefined || line.forgetAt <= now) {
      this.#forget(line);
      return;
    }
    this.#resting.add(line);
    this.#sweepAt ??= now + rate.perMs;
  }

  /** Forgets what it can at once: a timer per key would cost more than the memory of the keys. */
  #sweep(now: number): void {
    for (const line of this.#resting) {
      const rate = this.#rateOf(line);
      if (rate === undefined || line.forgetAt <= now) this.#forget(line);
    }
    const { rate } = this.#limits;
    this.#sweepAt = this.#resting.size === 0 || rate === undefined ? undefined : now + rate.perMs;
  }

  #forget(line: KeyLine<T>): void {
    this.#resting.delete(line);
    if (line.isBlocked) this.#blocked.remove(line);
    line.isBlocked = false;
    this.#lines.delete(line.key);
    if (line.starts !== undefined && line.key !== undefined) this.#onForgotten(line.key);
  }
}

/** Item of a `KeyedList`. */
export interface Keyed {
  /** Limits do not apply to items without a key. */
  readonly envelope: { readonly key?: string | undefined; readonly priority: number };
  /** List from which the item was taken and to which it was not released: it takes a slot of its key there. */
  keyHolder: object | undefined;
}

// Taken items that an array keeps room for before it is copied.
const maxHead = 1_000;

/** Items of one key. */
class KeyLine<T extends Keyed> {
  readonly key: string | undefined;
  held = 0;
  /** Items of `held` that neither were released nor wait again. */
  running = 0;
  /** Slots of items that were released or wait again although their work goes on. */
  overdue = 0;
  /** The line stands in the list of lines that may have an item to take. */
  isReady = false;
  /** The line waits until its rate allows another start. */
  isBlocked = false;
  /** Starts that the rate counts. */
  starts: StartLog | undefined;
  // By priority, then first in first out.
  #waiting: T[] = [];
  #head = 0;
  // Items that hold the key and wait again: they go first and need no slot.
  #resumed: T[] | undefined;

  constructor(key: string | undefined) {
    this.key = key;
  }

  /** An item waits that holds the key: it goes first. */
  get hasResumed(): boolean {
    return this.#resumed !== undefined;
  }

  /** Priority of the first item that does not hold the key; `undefined` if there is none. */
  get topPriority(): number | undefined {
    return this.#waiting[this.#head]?.envelope.priority;
  }

  get isEmpty(): boolean {
    return this.held + this.overdue === 0 && this.#resumed === undefined && this.#head === this.#waiting.length;
  }

  push(item: T): void {
    const { priority } = item.envelope;
    let [low, high] = [this.#head, this.#waiting.length];
    if (high > low && (this.#waiting[high - 1]?.envelope.priority ?? priority) >= priority) low = high;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#waiting[middle]?.envelope.priority ?? priority) >= priority) low = middle + 1;
      else high = middle;
    }
    if (low === this.#waiting.length) this.#waiting.push(item);
    else this.#waiting.splice(low, 0, item);
  }

  /** @param hasSpilled items of the key wait that are not in memory */
  hasNext(concurrency: number, hasSpilled: boolean): boolean {
    // Of items that hold the key, more than the limit may wait again: the limit may have been lowered.
    if (this.#resumed !== undefined) return this.running + this.overdue < concurrency;
    return (hasSpilled || this.#head < this.#waiting.length) && this.held + this.overdue < concurrency;
  }

  shift(): T | undefined {
    if (this.#resumed !== undefined) {
      const resumed = this.#resumed.shift();
      if (this.#resumed.length === 0) this.#resumed = undefined;
      return resumed;
    }
    const item = this.#waiting[this.#head];
    if (item === undefined) return undefined;
    this.#head += 1;
    if (this.#head === this.#waiting.length) {
      this.#waiting = [];
      this.#head = 0;
    } else if (this.#head > maxHead) {
      this.#waiting = this.#waiting.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  /** Adds an item that holds the key behind the others that do, or before them. */
  resume(item: T, isFirst: boolean): void {
    this.#resumed ??= [];
    if (isFirst) this.#resumed.unshift(item);
    else this.#resumed.push(item);
  }

  remove(item: T): void {
    const index = this.#waiting.indexOf(item, this.#head);
    if (index !== -1) this.#waiting.splice(index, 1);
    else this.#resumed = this.#resumed?.filter((other) => other !== item);
    if (this.#resumed?.length === 0) this.#resumed = undefined;
  }

  *items(): Iterable<T> {
    yield* this.#resumed ?? [];
    yield* this.#waiting.slice(this.#head);
  }

  countStart(now: number, rate: RateLimit): void {
    this.starts ??= new StartLog(rate);
    this.starts.countStart(now);
  }

  /** Time from which the rate no longer depends on earlier starts. */
  get forgetAt(): number {
    return this.starts?.forgetAt ?? Number.NEGATIVE_INFINITY;
  }
}
