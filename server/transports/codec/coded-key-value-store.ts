import type { KeyValueStore } from '../key-values/key-value-store.js';
import type { Codec } from './codec.js';

// Counters of `increment` are stored as they are: the store adds to them.
const wholeNumber = /^-?\d{1,16}$/;

/** Store that encodes the values of another one. Keys and counters stay as they are. */
export class CodedKeyValueStore implements KeyValueStore {
  readonly #store: KeyValueStore;
  readonly #codec: Codec;

  constructor(store: KeyValueStore, codec: Codec) {
    this.#store = store;
    this.#codec = codec;
  }

  async get(key: string): Promise<string | undefined> {
    const value = await this.#store.get(key);
    return value === undefined || wholeNumber.test(value) ? value : this.#codec.decode(value);
  }

  async set(key: string, value: string, options?: { ttlMs?: number; ifAbsent?: boolean }): Promise<boolean> {
    return this.#store.set(key, this.#codec.encode(value), options);
  }

  delete(key: string): Promise<boolean> {
    return this.#store.delete(key);
  }

  increment(key: string, by?: number, ttlMs?: number): Promise<number> {
    return this.#store.increment(key, by, ttlMs);
  }

  async append(
    key: string,
    values: readonly string[],
    options?: { keepLast?: number; ttlMs?: number },
  ): Promise<number> {
    const encoded = values.map((value) => this.#codec.encode(value));
    return this.#store.append(key, encoded, options);
  }

  async range(key: string, from: number, to: number): Promise<string[]> {
    return (await this.#store.range(key, from, to)).map((value) => this.#codec.decode(value));
  }
}
