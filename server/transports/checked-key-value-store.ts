import { InvalidOptionError, quote } from '../errors.js';
import { checkOptionNames } from '../option-names.js';
import type { KeyValueStore } from './key-value-store.js';
import { maxAppendValues } from './limits.js';

const maxValueLength = 16_777_216;

/** Checks arguments before a store sees them, the same for every transport. */
export class CheckedKeyValueStore implements KeyValueStore {
  readonly #store: KeyValueStore;

  constructor(store: KeyValueStore) {
    this.#store = store;
  }

  async get(key: string): Promise<string | undefined> {
    checkKey(key);
    return this.#store.get(key);
  }

  async set(key: string, value: string, options: { ttlMs?: number; ifAbsent?: boolean } = {}): Promise<boolean> {
    checkKey(key);
    checkValue(value, key);
    checkOptionNames(options, ['ttlMs', 'ifAbsent'], 'set');
    checkTtl(options.ttlMs);
    return this.#store.set(key, value, options);
  }

  async delete(key: string): Promise<boolean> {
    checkKey(key);
    return this.#store.delete(key);
  }

  async increment(key: string, by = 1, ttlMs?: number): Promise<number> {
    checkKey(key);
    check(Number.isSafeInteger(by), 'by of increment', 'a whole number', by);
    checkTtl(ttlMs);
    return this.#store.increment(key, by, ttlMs);
  }

  async append(
    key: string,
    values: readonly string[],
    options: { keepLast?: number; ttlMs?: number } = {},
  ): Promise<number> {
    checkKey(key);
    check(Array.isArray(values), 'values of append', 'an array of strings', values);
    check(values.length <= maxAppendValues, 'values of append', `at most ${maxAppendValues} strings`, values.length);
    for (const value of values) checkValue(value, key);
    checkOptionNames(options, ['keepLast', 'ttlMs'], 'append');
    const { keepLast, ttlMs } = options;
    const isLength = keepLast === undefined || (Number.isSafeInteger(keepLast) && keepLast >= 1);
    check(isLength, 'keepLast of append', 'a whole number, 1 or more', keepLast);
    checkTtl(ttlMs);
    return this.#store.append(key, values, options);
  }

  async range(key: string, from: number, to: number): Promise<string[]> {
    checkKey(key);
    check(Number.isSafeInteger(from), 'from of range', 'a whole number', from);
    check(Number.isSafeInteger(to), 'to of range', 'a whole number', to);
    return this.#store.range(key, from, to);
  }
}

// Redis keeps text as UTF-8, in which half a surrogate pair would come back as another character.
const halfPair = /\p{Cs}/u;

function checkKey(key: unknown): void {
  const isKey = typeof key === 'string' && key.length >= 1 && !halfPair.test(key);
  check(isKey, 'a key', 'a well-formed string, not empty', key);
}

function checkValue(value: unknown, key: string): void {
  const option = `a value of key ${quote(key)}`;
  if (typeof value !== 'string' || halfPair.test(value)) {
    throw new InvalidOptionError(option, 'a well-formed string', value);
  }
  const isShort = value.length <= maxValueLength;
  check(isShort, option, `at most ${maxValueLength} characters`, value.length);
}

function checkTtl(ttlMs: number | undefined): void {
  check(ttlMs === undefined || (Number.isFinite(ttlMs) && ttlMs > 0), 'ttlMs', 'milliseconds, over 0', ttlMs);
}

function check(isOk: boolean, option: string, expected: string, got: unknown): void {
  if (!isOk) throw new InvalidOptionError(option, expected, got);
}
