/**
 * Strings and lists of strings under string keys, kept by a transport. Every call is atomic. A value has at most
 * 16,777,216 characters.
 *
 * Every method rejects with `InvalidOptionError` for an argument that is wrong, and with `KeyTypeError` where the
 * key is of the other kind.
 */
export interface KeyValueStore {
  /** The value, or `undefined` where there is none or it has expired. */
  get(key: string): Promise<string | undefined>;
  /** Stores a value; `false` where `ifAbsent` found one. Without `ttlMs` it stays until deleted. */
  set(key: string, value: string, options?: { ttlMs?: number; ifAbsent?: boolean }): Promise<boolean>;
  /** Deletes a value or list; `false` where there was none. */
  delete(key: string): Promise<boolean>;
  /**
   * Adds to a whole number, which begins at 0, and returns the sum: exact up to `Number.MAX_SAFE_INTEGER`. Each
   * call sets the expiry anew: without `ttlMs` there is none.
   */
  increment(key: string, by?: number, ttlMs?: number): Promise<number>;
  /**
   * Pushes up to 10,000 values to the end of a list, keeps its last `keepLast` and returns the length. Each call
   * sets the expiry anew: without `ttlMs` there is none.
   *
   * @throws {BackpressureError} where the list would have more than 1,000,000 entries; it stays as it was
   */
  append(key: string, values: readonly string[], options?: { keepLast?: number; ttlMs?: number }): Promise<number>;
  /**
   * Entries `from` to `to`, both included, negative ones from the end (-1 the last); `[]` where there is no list,
   * or `to` lies before `from`.
   */
  range(key: string, from: number, to: number): Promise<string[]>;
}
