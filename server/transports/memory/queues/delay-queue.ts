interface Delayed<T> {
  readonly dueAt: number;
  readonly order: number;
  readonly item: T;
}

/** Items by due time, first in first out among equal times: a binary heap. */
export class DelayQueue<T> {
  readonly #heap: Delayed<T>[] = [];
  #order = 0;

  /** Due time of the first item; `undefined` if the queue is empty. */
  get nextDueAt(): number | undefined {
    return this.#heap[0]?.dueAt;
  }

  push(item: T, dueAt: number): void {
    this.#rise({ dueAt, order: this.#order++, item }, this.#heap.length);
  }

  /** Removes and returns the first item if it is due at `now`. */
  shift(now: number): T | undefined {
    const first = this.#heap[0];
    if (first === undefined || first.dueAt > now) return undefined;
    const last = this.#heap.pop();
    if (last !== undefined && last !== first) this.#sink(last, 0);
    return first.item;
  }

  remove(item: T): void {
    const index = this.#heap.findIndex((entry) => entry.item === item);
    const last = index === -1 ? undefined : this.#heap.pop();
    if (last === undefined || index === this.#heap.length) return;
    if (index > 0 && isBefore(last, this.#at((index - 1) >> 1))) this.#rise(last, index);
    else this.#sink(last, index);
  }

  #rise(entry: Delayed<T>, from: number): void {
    let index = from;
    while (index > 0) {
      const parent = this.#at((index - 1) >> 1);
      if (!isBefore(entry, parent)) break;
      this.#heap[index] = parent;
      index = (index - 1) >> 1;
    }
    this.#heap[index] = entry;
  }

  #sink(entry: Delayed<T>, from: number): void {
    const size = this.#heap.length;
    let index = from;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= size) break;
      if (child + 1 < size && isBefore(this.#at(child + 1), this.#at(child))) child += 1;
      if (isBefore(entry, this.#at(child))) break;
      this.#heap[index] = this.#at(child);
      index = child;
    }
    this.#heap[index] = entry;
  }

  #at(index: number): Delayed<T> {
    return this.#heap[index] as Delayed<T>; // callers stay below the heap's length
  }
}

function isBefore<T>(a: Delayed<T>, b: Delayed<T>): boolean {
  return a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.order < b.order);
}
