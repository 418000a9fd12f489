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
