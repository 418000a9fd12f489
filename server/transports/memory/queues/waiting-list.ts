import { Deque } from './deque.js';

/** Priority queue: higher priorities first, first in first out within a priority. */
export class WaitingList<T> {
  readonly #byPriority = new Map<number, Deque<T>>();
  #priorities: number[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
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
      const item = this.#deque(priority).shift();
      if (item === undefined) continue;
      this.#size -= 1;
      return item;
    }
    return undefined;
  }

  remove(item: T, priority: number): void {
    if (this.#deque(priority).remove(item)) this.#size -= 1;
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
