import type { RedisOptions } from 'ioredis';
import { InvalidOptionError } from '../../errors.js';
import { checkOptionNames } from '../../option-names.js';

/** Options of ioredis, but for how it represents replies: the transport depends on that. */
export type ClientOptions = Omit<RedisOptions, 'replyMapping'>;

/** What `redisTransport` takes. */
export interface RedisTransportOptions {
  /** Such as `redis://:password@host:6379/0`, or `rediss://` for TLS. @default 'redis://127.0.0.1:6379', without `client` */
  url?: string;
  /** Options of ioredis, in place of `url` or beside it; what the `url` says goes first. */
  client?: ClientOptions;
  /** What all keys begin with, in braces: one Redis may serve several systems. @default 'hub' */
  prefix?: string;
  /** How long a process may be out of touch before what it runs is given to another, in milliseconds. @default 10_000 */
  lockDurationMs?: number;
  /** How often a process looks for events of processes that are gone, in milliseconds. @default 5_000 */
  stalledIntervalMs?: number;
  /** How long `emit` and reads wait for Redis before they reject, in milliseconds. @default 2_000 */
  emitTimeoutMs?: number;
  /** How often in a row processes may die over one event before it fails with `CrashLoopError`. @default 3 */
  maxCrashes?: number;
  /** Events of a type that failed for good and are kept, with their payloads, for `hub.replay`. @default 1_000 */
  maxDeadLetters?: number;
}

/** {@link RedisTransportOptions}, checked and complete. */
export interface RedisSettings {
  /** `undefined` where `client` says it all. */
  readonly url: string | undefined;
  readonly client: ClientOptions;
  /** A hash tag: all keys lie in one slot. */
  readonly prefix: string;
  readonly lockDurationMs: number;
  readonly stalledIntervalMs: number;
  readonly emitTimeoutMs: number;
  readonly maxCrashes: number;
  readonly maxDeadLetters: number;
}

const optionNames = [
  'url',
  'client',
  'prefix',
  'lockDurationMs',
  'stalledIntervalMs',
  'emitTimeoutMs',
  'maxCrashes',
  'maxDeadLetters',
] as const;

/** @throws {InvalidOptionError} */
export function resolveRedisOptions(options: RedisTransportOptions): RedisSettings {
  if (typeof options !== 'object' || options === null) {
    throw new InvalidOptionError('options of redisTransport', 'an object', options);
  }
  checkOptionNames(options, optionNames, 'redisTransport');
  const { client = {}, prefix = 'hub' } = options;
  const { url = options.client === undefined ? 'redis://127.0.0.1:6379' : undefined } = options;
  const { lockDurationMs = 10_000, stalledIntervalMs = 5_000, emitTimeoutMs = 2_000 } = options;
  const { maxCrashes = 3, maxDeadLetters = 1_000 } = options;
  const check = (ok: boolean, option: string, expected: string, got: unknown): void => {
    if (!ok) throw new InvalidOptionError(`${option} of redisTransport`, expected, got);
  };
  // The value may hold a password: it is not shown.
  const isUrl = url === undefined || (typeof url === 'string' && /^rediss?:\/\//.test(url) && URL.canParse(url));
  check(isUrl, 'url', 'an address such as redis://127.0.0.1:6379', typeof url);
  check(typeof client === 'object' && client !== null, 'client', 'options of ioredis', client);
  check(client.keyPrefix === undefined, 'client.keyPrefix', 'left out: use prefix', client.keyPrefix);
  const isPrefix = typeof prefix === 'string' && /^[^{}:\p{Cc}]{1,64}$/u.test(prefix);
  check(isPrefix, 'prefix', '1 to 64 characters, none of them a brace, a colon or a control character', prefix);
  const times = { lockDurationMs, stalledIntervalMs, emitTimeoutMs };
  for (const [name, ms] of Object.entries(times)) {
    check(Number.isInteger(ms) && ms >= 10, name, 'a whole number of milliseconds, 10 or more', ms);
  }
  check(Number.isInteger(maxCrashes) && maxCrashes >= 1, 'maxCrashes', 'a whole number, 1 or more', maxCrashes);
  const isLimit = Number.isInteger(maxDeadLetters) && maxDeadLetters >= 0;
  check(isLimit, 'maxDeadLetters', 'a whole number, 0 or more', maxDeadLetters);
  return { url, client, prefix: `{${prefix}}`, ...times, maxCrashes, maxDeadLetters };
}
