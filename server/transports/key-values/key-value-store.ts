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
}
