import { HubError, quote } from '../../errors.js';
import type { Clock } from '../clock.js';
import { BackpressureError, KeyTypeError } from '../errors.js';
import type { KeyValueStore } from '../key-values.js';
import { maxListLength } from '../limits.js';
import type { Commits } from './database/committer.js';
import type { Database, Statement } from './database/driver.js';
import { fromText, numberOf, optionalNumber, optionalText, textOf, toText } from './stored-values.js';

/** Value of a key, or the numbers of the first entry of its list and of the one after its last. */
type Stored = { readonly value: string } | { readonly first: number; readonly next: number };

/** Store in the file. It holds as many keys as fit on the disk. Writes evict expired keys. */
export class SqliteKeyValueStore implements KeyValueStore {
  readonly #committer: Commits;
  readonly #clock: Clock;
  readonly #find: Statement;
  readonly #put: Statement;
  readonly #remove: Statement;
  readonly #expired: Statement;
  readonly #listRange: Statement;
  readonly #append: Statement;
  readonly #trim: Statement;

  constructor(database: Database, committer: Commits, clock: Clock) {
    this.#committer = committer;
    this.#clock = clock;
    this.#find = database.prepare('SELECT * FROM key_values WHERE key = ?');
    this.#put = database.prepare('INSERT OR REPLACE INTO key_values VALUES (?, ?, ?, ?, ?)');
    this.#remove = database.prepare('DELETE FROM key_values WHERE key = ?');
    this.#expired = database.prepare('SELECT key, first FROM key_values WHERE expires_at <= ? LIMIT 2');
    this.#listRange = database.prepare(
      'SELECT value FROM list_values WHERE key = ? AND number >= ? AND number <= ? ORDER BY number',
    );
    this.#append = database.prepare('INSERT INTO list_values VALUES (?, ?, ?)');
    this.#trim = database.prepare('DELETE FROM list_values WHERE key = ? AND number < ?');
  }

  async get(key: string): Promise<string | undefined> {
    return this.#read(() => this.#string(key));
  }

  set(key: string, value: string, options: { ttlMs?: number; ifAbsent?: boolean } = {}): Promise<boolean> {
    return this.#committer.write(() => {
      const known = this.#live(key);
      if (options.ifAbsent === true && known !== undefined) return false;
      if (known === undefined || 'first' in known) this.#drop(key);
      this.#write(key, { value }, options.ttlMs);
      return true;
    }, value.length);
  }

  compareAndSet(
    key: string,
    expected: string | undefined,
    value: string,
    options: { ttlMs?: number } = {},
  ): Promise<boolean> {
    return this.#committer.write(() => {
      const known = this.#string(key);
      if (known !== expected) return false;
      if (known === undefined) this.#drop(key);
      this.#write(key, { value }, options.ttlMs);
      return true;
    }, value.length);
  }

  delete(key: string): Promise<boolean> {
    return this.#committer.write(() => {
      const existed = this.#live(key) !== undefined;
      this.#drop(key);
      return existed;
    });
  }

  increment(key: string, by = 1, ttlMs?: number): Promise<number> {
    return this.#committer.write(() => {
      const current = this.#string(key);
      const number = Number(current ?? '0');
      const isNumber = current === undefined || (Number.isSafeInteger(number) && String(number) === current);
      if (!isNumber) throw new KeyTypeError(key, 'a whole number');
      if (current === undefined) this.#drop(key);
      this.#write(key, { value: String(number + by) }, ttlMs);
      return number + by;
    });
  }

  append(
    key: string,
    values: readonly string[],
    { keepLast = Number.POSITIVE_INFINITY, ttlMs }: { keepLast?: number; ttlMs?: number } = {},
  ): Promise<number> {
    const size = values.reduce((sum, value) => sum + value.length, 0);
    return this.#committer.write(() => {
      const known = this.#list(key);
      const { first, next } = known ?? { first: 0, next: 0 };
      const length = Math.min(next - first + values.length, keepLast);
      if (length === 0) return 0;
      if (length > maxListLength) throw new BackpressureError(`list ${quote(key)}`, `${maxListLength} entries`);
      if (known === undefined) this.#drop(key);
      const end = next + values.length;
      for (const [index, value] of values.entries()) this.#append.run(toText(key), next + index, toText(value));
      if (end - length > first) this.#trim.run(toText(key), end - length);
      this.#write(key, { first: end - length, next: end }, ttlMs);
      return length;
    }, size);
  }

  async range(key: string, from: number, to: number): Promise<string[]> {
    return this.#read(() => {
      const list = this.#list(key);
      if (list === undefined) return [];
      const { first, next } = list;
      const start = Math.max(first, from < 0 ? next + from : first + from);
      const end = to < 0 ? next + to : first + to;
      return this.#listRange.all(toText(key), start, end).map((row) => fromText(textOf(row, 'value')));
    });
  }

  async now(): Promise<number> {
    return this.#clock.now();
  }

  /** @throws {TransportUnavailableError | CorruptFileError} if the file cannot be read */
  #read<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      throw HubError.is(error) ? error : this.#committer.unreadable(error);
    }
  }

  #live(key: string): Stored | undefined {
    const row = this.#find.get(toText(key));
    if (row === undefined) return undefined;
    const expiresAt = optionalNumber(row, 'expires_at') ?? Number.POSITIVE_INFINITY;
    if (expiresAt <= this.#clock.now()) return undefined;
    const value = optionalText(row, 'value');
    return value === undefined
      ? { first: numberOf(row, 'first'), next: numberOf(row, 'next') }
      : { value: fromText(value) };
  }

  #string(key: string): string | undefined {
    const known = this.#live(key);
    if (known !== undefined && !('value' in known)) throw new KeyTypeError(key, 'a string');
    return known?.value;
  }

  #list(key: string): { readonly first: number; readonly next: number } | undefined {
    const known = this.#live(key);
    if (known !== undefined && 'value' in known) throw new KeyTypeError(key, 'a list');
    return known;
  }

  #write(key: string, stored: Stored, ttlMs: number | undefined): void {
    const now = this.#clock.now();
    // Two keys per write keep pace with the one that it may add, without a timer or a long pause.
    for (const row of this.#expired.all(now)) {
      const expired = textOf(row, 'key');
      if (expired !== toText(key)) this.#dropStored(expired);
    }
    const expiresAt = ttlMs === undefined ? null : now + ttlMs;
    if ('value' in stored) this.#put.run(toText(key), toText(stored.value), null, null, expiresAt);
    else this.#put.run(toText(key), null, stored.first, stored.next, expiresAt);
  }

  /** Deletes a key with its list, whether or not it has expired. */
  #drop(key: string): void {
    this.#dropStored(toText(key));
  }

  #dropStored(key: string): void {
    this.#remove.run(key);
    this.#trim.run(key, Number.MAX_SAFE_INTEGER);
  }
}
