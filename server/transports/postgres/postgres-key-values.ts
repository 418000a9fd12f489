import { quote } from '../../errors.js';
import { BackpressureError, KeyTypeError } from '../errors.js';
import type { KeyValueStore } from '../key-values.js';
import { maxListLength } from '../limits.js';
import type { Database } from './connection/database.js';
import { readNumber, unexpected } from './connection/fields.js';

// As `kv_get` returns them: a list, and what comes before a value.
const [listMark, valueMark] = ['l', 'v'];

/** Key-value store in a table: strings, and lists with a row per entry. */
export class PostgresKeyValueStore implements KeyValueStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async get(key: string): Promise<string | undefined> {
    const found = await this.#database.read('kv_get', [Buffer.from(key)]);
    if (found === null) return undefined;
    const text = textOf(found);
    if (text === listMark) throw new KeyTypeError(key, 'a string');
    return text.slice(valueMark.length);
  }

  async set(
    key: string,
    value: string,
    { ttlMs, ifAbsent = false }: { ttlMs?: number; ifAbsent?: boolean } = {},
  ): Promise<boolean> {
    const args = [Buffer.from(key), Buffer.from(value), ttlMs ?? null, ifAbsent ? 'absent' : 'any', null];
    return (await this.#database.call('kv_set', args)) === true;
  }

  async compareAndSet(
    key: string,
    expected: string | undefined,
    value: string,
    { ttlMs }: { ttlMs?: number } = {},
  ): Promise<boolean> {
    const known = expected === undefined ? null : Buffer.from(expected);
    const args = [Buffer.from(key), Buffer.from(value), ttlMs ?? null, 'expected', known];
    const isSet = await this.#database.call('kv_set', args);
    if (isSet === null) throw new KeyTypeError(key, 'a string');
    return isSet === true;
  }

  async delete(key: string): Promise<boolean> {
    return (await this.#database.call('kv_delete', [Buffer.from(key)])) === true;
  }

  async now(): Promise<number> {
    return readNumber(await this.#database.call('now_ms', []));
  }

  async increment(key: string, by = 1, ttlMs?: number): Promise<number> {
    const sum = await this.#database.call('kv_increment', [Buffer.from(key), by, ttlMs ?? null]);
    if (sum === null) throw new KeyTypeError(key, 'a whole number');
    return readNumber(sum);
  }

  async append(
    key: string,
    values: readonly string[],
    { keepLast, ttlMs }: { keepLast?: number; ttlMs?: number } = {},
  ): Promise<number> {
    const bytes = values.map((value) => Buffer.from(value));
    const length = await this.#database.call('kv_append', [
      Buffer.from(key),
      bytes,
      keepLast ?? null,
      maxListLength,
      ttlMs ?? null,
    ]);
    if (length === null) throw new KeyTypeError(key, 'a list');
    if (length === -1) throw new BackpressureError(`list ${quote(key)}`, `${maxListLength} entries`);
    return readNumber(length);
  }

  async range(key: string, from: number, to: number): Promise<string[]> {
    const rows = await this.#database.query('SELECT kind, value FROM hub.kv_range($1, $2, $3)', [
      Buffer.from(key),
      from,
      to,
    ]);
    if (rows[0]?.['kind'] === 'value') throw new KeyTypeError(key, 'a list');
    return rows.flatMap(({ value }) => (value === null ? [] : [textOf(value)]));
  }
}

/** Returns the text of bytes. @throws {UnexpectedDataError} */
export function textOf(value: unknown): string {
  if (!Buffer.isBuffer(value)) throw unexpected('bytes', value);
  return value.toString();
}
