import type { Clock } from '../clock.js';
import { BackpressureError } from '../errors.js';

const maxKeys = 1_000_000;

/** At most 1,000,000 values that expire. Writes evict expired ones. */
export class ExpiringMap<T> {
  readonly #entries = new Map<string, { readonly value: T; readonly expiresAt: number }>();
  readonly #clock: Clock;
  readonly #name: string;
  #sweep = this.#entries.entries();

  /** @param name of the map in the error that refuses another key */
  constructor(clock: Clock, name: string) {
    this.#clock = clock;
    this.#name = name;
  }

  get(key: string): T | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && entry.expiresAt > this.#clock.now() ? entry.value : undefined;
  }

  /** @throws {BackpressureError} if the map is full */
  set(key: string, value: T, ttlMs?: number): void {
    this.#sweepTwo();
    if (this.#entries.size >= maxKeys && !this.#entries.has(key)) {
      throw new BackpressureError(this.#name, `${maxKeys} keys`);
    }
    this.#entries.set(key, { value, expiresAt: this.#clock.now() + (ttlMs ?? Number.POSITIVE_INFINITY) });
  }

  /** Returns `false` if there was no value. */
  delete(key: string): boolean {
    const existed = this.get(key) !== undefined;
    this.#entries.delete(key);
    return existed;
  }

  // Two keys per write keep pace with the one that it may add, without a timer or a long pause.
  #sweepTwo(): void {
    for (let i = 0; i < 2; i += 1) {
      const next = this.#sweep.next();
      if (next.done === true) {
        this.#sweep = this.#entries.entries();
        return;
      }
      const [key, { expiresAt }] = next.value;
      if (expiresAt <= this.#clock.now()) this.#entries.delete(key);
    }
  }
}
