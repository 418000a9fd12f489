interface Delayed<T> {
  readonly dueAt: number;
  readonly order: number;
  readonly item: T;
  /** Position in the heap. */
  index: number;
}

/** Items by due time, first in first out among equal times: a binary heap. An item is in the queue at most once. */
export class DelayQueue<T> {
  readonly #heap: Delayed<T>[] = [];
  // Built by the first removal: most queues never remove an item before its time.
  #byItem: Map<T, Delayed<T>> | undefined;
  #order = 0;

  /** Due time of the first item; `undefined` if the queue is empty. */
  get nextDueAt(): number | undefined {
    return this.#heap[0]?.dueAt;
  }

  push(item: T, dueAt: number): void {
    const delayed: Delayed<T> = { dueAt, order: this.#order++, item, index: this.#heap.length };
    this.#byItem?.set(item, delayed);
    this.#rise(delayed, this.#heap.length);
  }

  /** Removes and returns the first item if it is due at `now`. */
  shift(now: number): T | undefined {
    const first = this.#heap[0];
    if (first === undefined || first.dueAt > now) return undefined;
    this.#removeAt(first);
    return first.item;
  }

  /** Returns whether the item was in the queue. */
  remove(item: T): boolean {
    this.#byItem ??= new Map(this.#heap.map((delayed) => [delayed.item, delayed]));
    const delayed = this.#byItem.get(item);
    if (delayed !== undefined) this.#removeAt(delayed);
    return delayed !== undefined;
  }

  /** All items, in no order. */
  *items(): Iterable<T> {
    for (const { item } of this.#heap) yield item;
  }

  #removeAt(removed: Delayed<T>): void {
    this.#byItem?.delete(removed.item);
    const last = this.#heap.pop();
    if (last === undefined || last === removed) return;
    const { index } = removed;
    if (index > 0 && isBefore(last, this.#at((index - 1) >> 1))) this.#rise(last, index);
    else this.#sink(last, index);
  }

  #rise(delayed: Delayed<T>, from: number): void {
    let index = from;
    while (index > 0) {
      const parent = this.#at((index - 1) >> 1);
      if (!isBefore(delayed, parent)) break;
      this.#set(index, parent);
      index = (index - 1) >> 1;
    }
    this.#set(index, delayed);
  }

  #sink(delayed: Delayed<T>, from: number): void {
    const size = this.#heap.length;
    let index = from;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= size) break;
      if (child + 1 < size && isBefore(this.#at(child + 1), this.#at(child))) child += 1;
      if (isBefore(delayed, this.#at(child))) break;
      this.#set(index, this.#at(child));
      index = child;
    }
    this.#set(index, delayed);
  }

  #set(index: number, delayed: Delayed<T>): void {
    this.#heap[index] = delayed;
    delayed.index = index;
  }

  #at(index: number): Delayed<T> {
    // Callers pass an index below the heap's length.
    return this.#heap[index] as Delayed<T>;
  }
}

function isBefore<T>(a: Delayed<T>, b: Delayed<T>): boolean {
  return a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.order < b.order);
}
