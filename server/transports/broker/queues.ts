/** Double-ended queue in a ring buffer that doubles when full. */
export class Deque<T> {
  #ring: (T | undefined)[] = new Array(8);
  #head = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(item: T): void {
    if (this.#size === this.#ring.length) this.#grow();
    this.#ring[(this.#head + this.#size) & (this.#ring.length - 1)] = item;
    this.#size += 1;
  }

  unshift(item: T): void {
    if (this.#size === this.#ring.length) this.#grow();
    this.#head = (this.#head - 1) & (this.#ring.length - 1);
    this.#ring[this.#head] = item;
    this.#size += 1;
  }

  shift(): T | undefined {
    if (this.#size === 0) return undefined;
    const item = this.#ring[this.#head];
    this.#ring[this.#head] = undefined;
    this.#head = (this.#head + 1) & (this.#ring.length - 1);
    this.#size -= 1;
    // A burst must not leave a large ring behind.
    if (this.#size === 0 && this.#ring.length > 1024) {
      this.#ring = new Array(8);
      this.#head = 0;
    }
    return item;
  }

  *items(): Iterable<T> {
    for (let i = 0; i < this.#size; i += 1) {
      const item = this.#ring[(this.#head + i) & (this.#ring.length - 1)];
      if (item !== undefined) yield item;
    }
  }

  #grow(): void {
    const ring: (T | undefined)[] = new Array(this.#ring.length * 2);
    for (let i = 0; i < this.#size; i += 1) ring[i] = this.#ring[(this.#head + i) & (this.#ring.length - 1)];
    this.#ring = ring;
    this.#head = 0;
  }
}

/** Place of an item in a {@link DelayQueue}, by which it is removed. */
export interface DelayedItem<T> {
  readonly dueAt: number;
  readonly order: number;
  readonly item: T;
  /** Position in the heap; -1 after the item was removed. */
  index: number;
}

/** Items by due time, first in first out among equal times: a binary heap. An item is in the queue at most once. */
export class DelayQueue<T> {
  readonly #heap: DelayedItem<T>[] = [];
  // Built by the first removal by item: most queues never remove one so.
  #byItem: Map<T, DelayedItem<T>> | undefined;
  #order = 0;

  /** Due time of the first item; `undefined` if the queue is empty. */
  get nextDueAt(): number | undefined {
    return this.#heap[0]?.dueAt;
  }

  push(item: T, dueAt: number): DelayedItem<T> {
    const delayed = { dueAt, order: this.#order++, item, index: this.#heap.length };
    this.#byItem?.set(item, delayed);
    this.#rise(delayed, delayed.index);
    return delayed;
  }

  /** Removes and returns the first item if it is due at `now`. */
  shift(now: number): T | undefined {
    const first = this.#heap[0];
    if (first === undefined || first.dueAt > now) return undefined;
    this.delete(first);
    return first.item;
  }

  /** Returns `true` if the item was in the queue. */
  remove(item: T): boolean {
    this.#byItem ??= new Map(this.#heap.map((delayed) => [delayed.item, delayed]));
    const delayed = this.#byItem.get(item);
    if (delayed !== undefined) this.delete(delayed);
    return delayed !== undefined;
  }

  /** All items, in no order. */
  *items(): Iterable<T> {
    for (const { item } of this.#heap) yield item;
  }

  /** Removes an item by its place, in O(log n). */
  delete(delayed: DelayedItem<T>): void {
    const { index } = delayed;
    this.#byItem?.delete(delayed.item);
    const last = index === -1 ? undefined : this.#heap.pop();
    delayed.index = -1;
    if (last === undefined || last === delayed) return;
    if (index > 0 && isBefore(last, this.#at((index - 1) >> 1))) this.#rise(last, index);
    else this.#sink(last, index);
  }

  #rise(entry: DelayedItem<T>, from: number): void {
    let index = from;
    while (index > 0) {
      const parent = this.#at((index - 1) >> 1);
      if (!isBefore(entry, parent)) break;
      this.#put(parent, index);
      index = (index - 1) >> 1;
    }
    this.#put(entry, index);
  }

  #sink(entry: DelayedItem<T>, from: number): void {
    const size = this.#heap.length;
    let index = from;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= size) break;
      if (child + 1 < size && isBefore(this.#at(child + 1), this.#at(child))) child += 1;
      if (isBefore(entry, this.#at(child))) break;
      this.#put(this.#at(child), index);
      index = child;
    }
    this.#put(entry, index);
  }

  #put(entry: DelayedItem<T>, index: number): void {
    this.#heap[index] = entry;
    entry.index = index;
  }

  #at(index: number): DelayedItem<T> {
    return this.#heap[index] as DelayedItem<T>; // callers stay below the heap's length
  }
}

function isBefore<T>(a: DelayedItem<T>, b: DelayedItem<T>): boolean {
  return a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.order < b.order);
}

// Removed items that a list may contain beside as many as it has others.
const minRemoved = 64;

/** Priority queue: higher priorities first, first in first out within a priority. */
export class WaitingList<T> {
  // Removed items that are still in a deque: removing each of them there would copy the deque every time.
  readonly #removed = new Set<T>();
  readonly #byPriority = new Map<number, Deque<T>>();
  #priorities: number[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Priority of the next item; `undefined` if the list is empty. */
  get topPriority(): number | undefined {
    for (const priority of this.#priorities) {
      const deque = this.#deque(priority);
      for (let item = deque.shift(); item !== undefined; item = deque.shift()) {
        if (this.#removed.delete(item)) continue;
        deque.unshift(item);
        return priority;
      }
    }
    return undefined;
  }

  push(item: T, priority: number): void {
    this.#deque(priority).push(item);
    this.#size += 1;
  }

  /** Inserts an item before all others of its priority. */
  unshift(item: T, priority: number): void {
    this.#deque(priority).unshift(item);
    this.#size += 1;
  }

  shift(): T | undefined {
    for (const priority of this.#priorities) {
      const deque = this.#deque(priority);
      for (let item = deque.shift(); item !== undefined; item = deque.shift()) {
        if (this.#removed.size > 0 && this.#removed.delete(item)) continue;
        this.#size -= 1;
        return item;
      }
    }
    return undefined;
  }

  /** Removes an item that is in the list. */
  remove(item: T): void {
    this.#removed.add(item);
    this.#size -= 1;
    if (this.#removed.size > this.#size + minRemoved) this.#compact();
  }

  /** All items, in no order. */
  *items(): Iterable<T> {
    for (const deque of this.#byPriority.values()) {
      for (const item of deque.items()) if (!this.#removed.has(item)) yield item;
    }
  }

  #compact(): void {
    for (const deque of this.#byPriority.values()) {
      for (let left = deque.size; left > 0; left -= 1) {
        const item = deque.shift();
        if (item !== undefined && !this.#removed.delete(item)) deque.push(item);
      }
    }
  }

  #deque(priority: number): Deque<T> {
    let deque = this.#byPriority.get(priority);
    if (deque === undefined) {
      deque = new Deque();
      this.#byPriority.set(priority, deque);
      this.#priorities = [...this.#byPriority.keys()].sort((a, b) => b - a);
    }
    return deque;
  }
}
