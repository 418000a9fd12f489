import { InvalidOptionError, quote } from '../errors.js';
import { OptionChecker } from '../options.js';
import { maxAppendValues } from './limits.js';

/**
 * Strings and lists of strings under string keys, stored by a transport. Every call is atomic. A value has at most
 * 16,777,216 characters.
 *
 * Every method rejects with `InvalidOptionError` if an argument is invalid, and with `KeyTypeError` if the key holds
 * the other kind of value.
 */
export interface KeyValueStore {
  /** Returns the value; `undefined` if the key does not exist or has expired. */
  get(key: string): Promise<string | undefined>;
  /**
   * Stores a value and returns `true`. With `ifAbsent` it does nothing and returns `false` if the key exists. Without
   * `ttlMs` the value does not expire.
   */
  set(key: string, value: string, options?: { ttlMs?: number; ifAbsent?: boolean }): Promise<boolean>;
  /**
   * Stores a value and returns `true` if the key holds the expected one; `undefined` stands for a key that does not exist.
   * Without `ttlMs` the value does not expire. Changes nothing and returns `false` otherwise.
   */
  compareAndSet(
    key: string,
    expected: string | undefined,
    value: string,
    options?: { ttlMs?: number },
  ): Promise<boolean>;
  /** Deletes a value or a list; returns `false` if the key does not exist. */
  delete(key: string): Promise<boolean>;
  /**
   * Adds `by` (default 1) to a whole number and returns the sum, exact up to `Number.MAX_SAFE_INTEGER`. A key that does
   * not exist counts as 0. Each call replaces the expiry: without `ttlMs` the number does not expire.
   */
  increment(key: string, by?: number, ttlMs?: number): Promise<number>;
  /**
   * Appends up to 10,000 values to a list, retains its last `keepLast` entries and returns the length. Each call
   * replaces the expiry: without `ttlMs` the list does not expire.
   *
   * @throws {BackpressureError} if the list would exceed 1,000,000 entries; the list does not change
   */
  append(key: string, values: readonly string[], options?: { keepLast?: number; ttlMs?: number }): Promise<number>;
  /**
   * Returns the entries `from` to `to` of a list, both included. Negative indexes count from the end: -1 is the last
   * entry. Returns `[]` if the list does not exist or `to` is before `from`.
   */
  range(key: string, from: number, to: number): Promise<string[]>;
  /** Returns the time of the store in epoch milliseconds: the same clock for all processes. */
  now(): Promise<number>;
}

const maxValueLength = 16_777_216;

/** Checks all arguments before it calls a store, so that every transport refuses the same ones. */
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
    const check = new OptionChecker(options, ['ttlMs', 'ifAbsent'], 'set');
    checkTtl(check, options.ttlMs);
    check.boolean('ifAbsent', options.ifAbsent);
    return this.#store.set(key, value, options);
  }

  async compareAndSet(
    key: string,
    expected: string | undefined,
    value: string,
    options: { ttlMs?: number } = {},
  ): Promise<boolean> {
    checkKey(key);
    if (expected !== undefined) checkValue(expected, key);
    checkValue(value, key);
    checkTtl(new OptionChecker(options, ['ttlMs'], 'compareAndSet'), options.ttlMs);
    return this.#store.compareAndSet(key, expected, value, options);
  }

  async delete(key: string): Promise<boolean> {
    checkKey(key);
    return this.#store.delete(key);
  }

  async increment(key: string, by = 1, ttlMs?: number): Promise<number> {
    checkKey(key);
    const check = new OptionChecker({ by, ttlMs }, ['by', 'ttlMs'], 'increment');
    check.that(Number.isSafeInteger(by), 'by', 'a whole number', by);
    checkTtl(check, ttlMs);
    return this.#store.increment(key, by, ttlMs);
  }

  async append(
    key: string,
    values: readonly string[],
    options: { keepLast?: number; ttlMs?: number } = {},
  ): Promise<number> {
    checkKey(key);
    const check = new OptionChecker(options, ['keepLast', 'ttlMs'], 'append');
    check.that(Array.isArray(values), 'values', 'an array of strings', values);
    check.that(values.length <= maxAppendValues, 'values', `at most ${maxAppendValues} strings`, values.length);
    for (const value of values) checkValue(value, key);
    check.count('keepLast', options.keepLast);
    checkTtl(check, options.ttlMs);
    return this.#store.append(key, values, options);
  }

  async range(key: string, from: number, to: number): Promise<string[]> {
    checkKey(key);
    const check = new OptionChecker({ from, to }, ['from', 'to'], 'range');
    check.that(Number.isSafeInteger(from), 'from', 'a whole number', from);
    check.that(Number.isSafeInteger(to), 'to', 'a whole number', to);
    return this.#store.range(key, from, to);
  }

  now(): Promise<number> {
    return this.#store.now();
  }
}

// Redis stores strings as UTF-8, which cannot encode half of a surrogate pair.
const loneSurrogate = /\p{Cs}/u;

/** @throws {InvalidOptionError} unless the value can be a key of a store or the name of a log */
export function checkKey(key: unknown): void {
  const isValid = typeof key === 'string' && key.length >= 1 && !loneSurrogate.test(key);
  if (!isValid) throw new InvalidOptionError('a key', 'a well-formed string, not empty', key);
}

/** @throws {InvalidOptionError} unless the value is a text that every transport can store */
export function checkText(value: unknown, subject: string): void {
  if (typeof value !== 'string' || loneSurrogate.test(value)) {
    throw new InvalidOptionError(subject, 'a well-formed string', value);
  }
}

function checkValue(value: string, key: string): void {
  const subject = `a value of key ${quote(key)}`;
  checkText(value, subject);
  if (value.length > maxValueLength) {
    throw new InvalidOptionError(subject, `at most ${maxValueLength} characters`, value.length);
  }
}

function checkTtl(check: OptionChecker, ttlMs: number | undefined): void {
  const isValid = ttlMs === undefined || (Number.isFinite(ttlMs) && ttlMs > 0);
  check.that(isValid, 'ttlMs', 'milliseconds, more than 0', ttlMs);
}
