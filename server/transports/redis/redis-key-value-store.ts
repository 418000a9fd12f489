import type { Redis } from 'ioredis';
import { quote } from '../../errors.js';
import { BackpressureError, KeyTypeError } from '../errors.js';
import type { KeyValueStore } from '../key-values.js';
import { maxListLength } from '../limits.js';
import type { CommandClient } from './connection/command-client.js';
import { redisKey } from './connection/keys.js';
import { readNumber } from './connection/reply.js';
import { LuaFragment, Script } from './connection/script.js';

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

  async delete(key: string): Promise<boolean> {
    return (await this.#run(key, 'a value', (client) => client.del(this.#key(key)))) === 1;
  }

  async increment(key: string, by = 1, ttlMs?: number): Promise<number> {
    const args = [ttlMs === undefined ? '' : expiry(ttlMs), by];
    const run = (client: Redis): Promise<unknown> => incrementScript.run(client, this.#key(key), args);
    return readNumber(await this.#run(key, 'a whole number', run));
  }

  async append(
    key: string,
    values: readonly string[],
    options: { keepLast?: number; ttlMs?: number } = {},
  ): Promise<number> {
    const { keepLast = '', ttlMs } = options;
    const args = [ttlMs === undefined ? '' : expiry(ttlMs), maxListLength, keepLast, ...values];
    const run = (client: Redis): Promise<unknown> => appendScript.run(client, this.#key(key), args);
    const length = await this.#run(key, 'a list', run);
    if (length === null) throw new BackpressureError(`list ${quote(key)}`, `${maxListLength} entries`);
    return readNumber(length);
  }

  range(key: string, from: number, to: number): Promise<string[]> {
    return this.#run(key, 'a list', (client) => client.lrange(this.#key(key), from, to), { isRepeatable: true });
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

const entryKey = 'key of the entry';

/** `setExpiry(key, ttlMs)`: milliseconds, or empty for an entry that does not expire. */
const setExpiry = new LuaFragment(`
local function setExpiry(key, ttlMs)
  if ttlMs == '' then redis.call('PERSIST', key) else redis.call('PEXPIRE', key, ttlMs) end
end
`);

const incrementScript: Script = new Script({
  name: 'increment',
  access: 'stores',
  purpose: 'Adds to a whole number.',
  key: entryKey,
  argv: 'time to live in ms or empty, number to add',
  reply: 'the sum',
  includes: [setExpiry],
  lua: `
local sum = redis.call('INCRBY', KEYS[1], ARGV[2])
setExpiry(KEYS[1], ARGV[1])
return sum
`,
});

const appendScript: Script = new Script({
  name: 'append',
  access: 'stores',
  purpose: 'Pushes values to the end of a list and trims it. Changes nothing if the list would become too long.',
  key: entryKey,
  argv: 'time to live in ms or empty, maximum length, number of entries to keep or empty, value...',
  reply: 'the length, or nothing if the list would become too long',
  includes: [setExpiry],
  lua: `
local maxLength, keepLast = tonumber(ARGV[2]), tonumber(ARGV[3]) or math.huge
local length = math.min(redis.call('LLEN', KEYS[1]) + #ARGV - 3, keepLast)
if length > maxLength then return false end
if length == 0 then return 0 end
for index = 4, #ARGV do redis.call('RPUSH', KEYS[1], ARGV[index]) end
redis.call('LTRIM', KEYS[1], -length, -1)
setExpiry(KEYS[1], ARGV[1])
return length
`,
});
