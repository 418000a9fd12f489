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
