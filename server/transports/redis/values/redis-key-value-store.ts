import type { Redis } from 'ioredis';
import { quote } from '../../../errors.js';
import { BackpressureError, KeyTypeError } from '../../errors.js';
import type { KeyValueStore } from '../../key-values.js';
import { maxListLength } from '../../limits.js';
import type { CommandClient } from '../connection/command-client.js';
import { redisKey } from '../connection/keys.js';
import { readNumber } from '../connection/reply.js';
import { scripts } from '../connection/script.js';

/** Key-value store in Redis: one key per entry, strings and lists. */
export class RedisKeyValueStore implements KeyValueStore {
  readonly #client: CommandClient;
  readonly #prefix: string;

  constructor(client: CommandClient, prefix: string) {
    this.#client = client;
    this.#prefix = prefix;
  }

  async get(key: string): Promise<string | undefined> {
    const read = (client: Redis): Promise<string | null> => client.get(this.#key(key));
    return (await this.#run(key, 'a string', read, { isRepeatable: true })) ?? undefined;
  }

  async set(key: string, value: string, options: { ttlMs?: number; ifAbsent?: boolean } = {}): Promise<boolean> {
    const { ttlMs, ifAbsent = false } = options;
    const ttl = ttlMs === undefined ? [] : ['PX', expiry(ttlMs)];
    const args = [this.#key(key), value, ...ttl, ...(ifAbsent ? ['NX'] : [])];
    const reply = await this.#run(key, 'a string', (client) => client.call('SET', ...args));
    return reply === 'OK';
  }

  async compareAndSet(
    key: string,
    expected: string | undefined,
    value: string,
    { ttlMs }: { ttlMs?: number } = {},
  ): Promise<boolean> {
    const args = [ttlMs === undefined ? '' : expiry(ttlMs), expected === undefined ? 1 : 0, expected ?? '', value];
    const run = (client: Redis): Promise<unknown> => scripts.compareAndSet.run(client, this.#key(key), args);
    return readNumber(await this.#run(key, 'a string', run)) === 1;
  }

  async delete(key: string): Promise<boolean> {
    return (await this.#run(key, 'a value', (client) => client.del(this.#key(key)))) === 1;
  }

  async increment(key: string, by = 1, ttlMs?: number): Promise<number> {
    const args = [ttlMs === undefined ? '' : expiry(ttlMs), by];
    const run = (client: Redis): Promise<unknown> => scripts.increment.run(client, this.#key(key), args);
    return readNumber(await this.#run(key, 'a whole number', run));
  }

  async append(
    key: string,
    values: readonly string[],
    options: { keepLast?: number; ttlMs?: number } = {},
  ): Promise<number> {
    const { keepLast = '', ttlMs } = options;
    const args = [ttlMs === undefined ? '' : expiry(ttlMs), maxListLength, keepLast, ...values];
    const run = (client: Redis): Promise<unknown> => scripts.append.run(client, this.#key(key), args);
    const length = await this.#run(key, 'a list', run);
    if (length === null) throw new BackpressureError(`list ${quote(key)}`, `${maxListLength} entries`);
    return readNumber(length);
  }

  range(key: string, from: number, to: number): Promise<string[]> {
    return this.#run(key, 'a list', (client) => client.lrange(this.#key(key), from, to), { isRepeatable: true });
  }

  async now(): Promise<number> {
    const [seconds, microseconds] = await this.#client.run((client) => client.time(), { isRepeatable: true });
    return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
  }

  #key(key: string): string {
    return redisKey(this.#prefix, 'kv', key);
  }

  async #run<T>(
    key: string,
    expected: string,
    command: (client: Redis) => Promise<T>,
    options?: { isRepeatable: boolean },
  ): Promise<T> {
    try {
      return await this.#client.run(command, options);
    } catch (error) {
      const isWrongType = error instanceof Error && /WRONGTYPE|not an integer/.test(error.message);
      throw isWrongType ? new KeyTypeError(key, expected) : error;
    }
  }
}

/** Returns an expiry that Redis accepts: whole milliseconds, within the range of integers. */
function expiry(ttlMs: number): number {
  return Math.min(Math.ceil(ttlMs), Number.MAX_SAFE_INTEGER);
}
