import type { RateLimit } from '../../transport.js';

/** Item of a `KeyedList`. */
export interface Keyed {
  /** Limits do not apply to items without a key. */
  readonly envelope: { readonly key?: string | undefined; readonly priority: number };
  /** List from which the item was taken and to which it was not released: it takes a slot of its key there. */
  keyHolder: object | undefined;
}

// Starts of one key that are counted before those out of the window are dropped.
const minPruneAt = 16;

// Taken items that an array keeps room for before it is copied.
const maxHead = 1_000;

/** Items of one key. */
export class KeyLine<T extends Keyed> {
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
  // By priority, then first in first out.
  #waiting: T[] = [];
  #head = 0;
  /** Times of the last starts, oldest first. */
  #starts: number[] | undefined;
  // Items that hold the key and wait again: they go first and need no slot.
  #resumed: T[] | undefined;
  #pruneAt = minPruneAt;

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

  countStart(now: number, { max, perMs }: RateLimit): void {
    this.#starts ??= [];
    this.#starts.push(now);
    if (this.#starts.length < this.#pruneAt) return;
    this.#starts = this.#starts.slice(-max).filter((start) => start + perMs > now);
    this.#pruneAt = Math.max(minPruneAt, 2 * this.#starts.length);
  }

  /** Time from which the rate allows the next start; may be in the past. */
  openAt({ max, perMs }: RateLimit): number {
    return (this.#starts?.at(-max) ?? Number.NEGATIVE_INFINITY) + perMs;
  }

  /** Time from which the rate no longer depends on earlier starts. */
  forgetAt({ perMs }: RateLimit): number {
    return (this.#starts?.at(-1) ?? Number.NEGATIVE_INFINITY) + perMs;
  }
}
