import { quote } from '../../errors.js';
import { TurnBudget } from '../broker/turn-budget.js';
import type { Clock } from '../clock.js';
import { BackpressureError, KeyTypeError } from '../errors.js';
import type { KeyValueStore } from '../key-values.js';
import { maxListLength } from '../limits.js';
import { ExpiringMap } from './expiring-map.js';

/** Key-values in the process. */
export class MemoryKeyValueStore implements KeyValueStore {
  readonly #entries: ExpiringMap<string | string[]>;
  readonly #turns: TurnBudget;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#entries = new ExpiringMap(clock, 'the key-value store');
    this.#turns = new TurnBudget(clock);
    this.#clock = clock;
  }

  async get(key: string): Promise<string | undefined> {
    return this.#spend(this.#string(key));
  }

  async set(key: string, value: string, options: { ttlMs?: number; ifAbsent?: boolean } = {}): Promise<boolean> {
    if (options.ifAbsent === true && this.#entries.get(key) !== undefined) return this.#spend(false);
    this.#entries.set(key, value, options.ttlMs);
    return this.#spend(true);
  }

  async compareAndSet(
    key: string,
    expected: string | undefined,
    value: string,
    options: { ttlMs?: number } = {},
  ): Promise<boolean> {
    if (this.#string(key) !== expected) return this.#spend(false);
    this.#entries.set(key, value, options.ttlMs);
    return this.#spend(true);
  }

  async delete(key: string): Promise<boolean> {
    return this.#spend(this.#entries.delete(key));
  }

  async increment(key: string, by = 1, ttlMs?: number): Promise<number> {
    const current = this.#string(key) ?? '0';
    const number = Number(current);
    if (!Number.isSafeInteger(number) || String(number) !== current) throw new KeyTypeError(key, 'a whole number');
    this.#entries.set(key, String(number + by), ttlMs);
    return this.#spend(number + by);
  }

  async append(
    key: string,
    values: readonly string[],
    options: { keepLast?: number; ttlMs?: number } = {},
  ): Promise<number> {
    const { keepLast = Number.POSITIVE_INFINITY, ttlMs } = options;
    const list = this.#list(key) ?? [];
    const length = Math.min(list.length + values.length, keepLast);
    if (length === 0) return 0;
    if (length > maxListLength) throw new BackpressureError(`list ${quote(key)}`, `${maxListLength} entries`);
    this.#entries.set(key, list, ttlMs);
    for (const value of values) list.push(value);
    list.splice(0, list.length - length);
    return this.#spend(length);
  }

  async range(key: string, from: number, to: number): Promise<string[]> {
    const list = this.#list(key) ?? [];
    return this.#spend(list.slice(from, Math.max(0, (to < 0 ? list.length + to : to) + 1)));
  }

  async now(): Promise<number> {
    return this.#spend(this.#clock.now());
  }

  #spend<T>(result: T): T | Promise<T> {
    return this.#turns.spendCall()?.then(() => result) ?? result;
  }

  #string(key: string): string | undefined {
    const value = this.#entries.get(key);
    if (Array.isArray(value)) throw new KeyTypeError(key, 'a string');
    return value;
  }

  #list(key: string): string[] | undefined {
    const value = this.#entries.get(key);
    if (typeof value === 'string') throw new KeyTypeError(key, 'a list');
    return value;
  }
}
