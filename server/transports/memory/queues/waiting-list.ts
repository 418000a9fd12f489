import { Deque } from './deque.js';

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
