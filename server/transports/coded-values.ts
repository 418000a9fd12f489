import type { BoundedLog, LogStorage } from './bounded-log.js';
import { KeyTypeError } from './errors.js';
import type { KeyValueStore } from './key-values.js';
import { isRunLog, type KeyedCodec } from './stored-keys.js';

// Counters of `increment` are stored as they are: the store adds to them.
const wholeNumber = /^-?\d{1,16}$/;

/** Store that encodes the values of another one, and hashes its keys. Counters stay as they are. */
export class CodedKeyValueStore implements KeyValueStore {
  readonly #store: KeyValueStore;
  readonly #codec: KeyedCodec;

  constructor(store: KeyValueStore, codec: KeyedCodec) {
    this.#store = store;
    this.#codec = codec;
  }

  get(key: string): Promise<string | undefined> {
    return this.#use(key, async (stored) => {
      const value = await this.#store.get(stored);
      return value === undefined || wholeNumber.test(value) ? value : this.#codec.decode(value);
    });
  }

  set(key: string, value: string, options?: { ttlMs?: number; ifAbsent?: boolean }): Promise<boolean> {
    return this.#use(key, (stored) => this.#store.set(stored, this.#codec.encode(value), options));
  }

  compareAndSet(
    key: string,
    expected: string | undefined,
    value: string,
    options?: { ttlMs?: number },
  ): Promise<boolean> {
    return this.#use(key, async (stored) => {
      // The codec may encode the expected value differently each time, so the stored text is compared.
      for (;;) {
        const text = await this.#store.get(stored);
        const known = text === undefined || wholeNumber.test(text) ? text : this.#codec.decode(text);
        if (known !== expected) return false;
        if (await this.#store.compareAndSet(stored, text, this.#codec.encode(value), options)) return true;
      }
    });
  }

  delete(key: string): Promise<boolean> {
    return this.#use(key, (stored) => this.#store.delete(stored));
  }

  increment(key: string, by?: number, ttlMs?: number): Promise<number> {
    return this.#use(key, (stored) => this.#store.increment(stored, by, ttlMs));
  }

  append(key: string, values: readonly string[], options?: { keepLast?: number; ttlMs?: number }): Promise<number> {
    return this.#use(key, (stored) => {
      const encoded = values.map((value) => this.#codec.encode(value));
      return this.#store.append(stored, encoded, options);
    });
  }

  range(key: string, from: number, to: number): Promise<string[]> {
    return this.#use(key, async (stored) => {
      return (await this.#store.range(stored, from, to)).map((value) => this.#codec.decode(value));
    });
  }

  now(): Promise<number> {
    return this.#store.now();
  }

  /** Calls `use` with the stored form of a key. Its errors name the key. */
  async #use<T>(key: string, use: (stored: string) => Promise<T>): Promise<T> {
    await this.#codec.ready();
    try {
      return await use(this.#codec.hash('value', key));
    } catch (error) {
      throw error instanceof KeyTypeError ? new KeyTypeError(key, error.expected) : error;
    }
  }
}

/** Returns logs whose texts are encoded, and whose names are hashed. */
export function codedLog(inner: BoundedLog, codec: KeyedCodec): LogStorage {
  const stored = async (name: string): Promise<string> => {
    await codec.ready();
    return isRunLog(name) ? name : codec.hash('log', name);
  };
  return {
    async append(name, texts, bounds) {
      const encoded = texts.map((text) => codec.encode(text));
      // An entry that fits before it is encoded is not refused.
      const longest = encoded.reduce((bytes, text) => Math.max(bytes, Buffer.byteLength(text)), bounds.maxBytes);
      return inner.append(await stored(name), encoded, { ...bounds, maxBytes: longest });
    },
    async read(name, options) {
      const page = await inner.read(await stored(name), options);
      return { ...page, entries: page.entries.map((entry) => ({ ...entry, text: codec.decode(entry.text) })) };
    },
    delete: async (name) => inner.delete(await stored(name)),
    watch: async (name, onAppend) => inner.watch(await stored(name), onAppend),
  };
}
