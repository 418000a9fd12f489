/**
 * Strings and lists of strings under string keys, kept by a transport. Every call is atomic.
 * A key of the other kind is a `KeyTypeError`.
 */
export interface KeyValueStore {
  /** The value, or `undefined` where there is none or it has expired. */
  get(key: string): Promise<string | undefined>;
  /** Stores a value; `false` where `ifAbsent` found one. Without `ttlMs` it stays until deleted. */
  set(key: string, value: string, options?: { ttlMs?: number; ifAbsent?: boolean }): Promise<boolean>;
  /** Deletes a value or list; `false` where there was none. */
  delete(key: string): Promise<boolean>;
  /** Adds to a whole number, which begins at 0, and returns the sum. `ttlMs` is set anew at each call. */
  increment(key: string, by?: number, ttlMs?: number): Promise<number>;
  /** Pushes to the end of a list, keeps its last `keepLast`, sets `ttlMs` anew; returns the length. */
  append(key: string, values: readonly string[], options?: { keepLast?: number; ttlMs?: number }): Promise<number>;
  /** Entries `from` to `to`, both included, negative ones from the end (-1 the last); `[]` where there is no list. */
  range(key: string, from: number, to: number): Promise<string[]>;
}
