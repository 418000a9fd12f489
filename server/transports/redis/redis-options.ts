import { OptionChecker } from '../../options.js';
import { maxTimeoutMs } from '../clock.js';
import { type Codec, resolveCodec } from '../codec.js';
import { defaultMaxCrashes, defaultMaxDeadLetters, leastCrashes } from '../limits.js';
import { type ClientOptions, checkClientOptions, clientOptionNames, readUrl } from './client-options.js';

/** Options of `redisTransport`. */
export interface RedisTransportOptions {
  /**
   * Address of Redis, such as `redis://:password@host:6379/0`, or `rediss://` for TLS.
   *
   * @default 'redis://127.0.0.1:6379' without `client`
   */
  url?: string;
  /**
   * Options of ioredis for the connection, such as `tls` or `sentinels`, instead of `url` or in addition. The `url` takes
   * precedence. Options that the transport sets itself, such as `retryStrategy`, are refused.
   */
  client?: ClientOptions;
  /** Prefix of all keys, which appears in braces. Systems with different prefixes can share a Redis. @default 'hub' */
  prefix?: string;
  /**
   * Lifetime of the lock of a running event, in milliseconds. A process renews its locks; when one expires, the event
   * runs in another process.
   *
   * @default 10_000
   */
  lockDurationMs?: number;
  /** Interval at which each process looks for events with expired locks, in milliseconds. @default 5_000 */
  stalledIntervalMs?: number;
  /** Time limit for `emit` and reads, in milliseconds, after which they reject. @default 2_000 */
  emitTimeoutMs?: number;
  /**
   * Number of process crashes in a row after which an event fails with `CrashLoopError`: 2 or more, because only a crash
   * in which the event ran alone proves that it is the cause.
   *
   * @default 5
   */
  maxCrashes?: number;
  /**
   * Maximum number of dead letters per service and type. They are retained with their payloads for `hub.replay`; over
   * the limit the oldest are evicted. With 0 none is retained.
   *
   * @default 1_000
   */
  maxDeadLetters?: number;
  /**
   * Age in milliseconds at which Redis deletes a dead letter with its payload, also if no process runs. It applies to
   * events that fail from now on. @default no limit
   */
  maxDeadLetterAgeMs?: number;
  /**
   * Encodes payloads, results, checkpoints and key-values before they leave the process, and hashes keys. Every process
   * with handlers of the prefix needs the same codec.
   *
   * @default stored as JSON text
   */
  codec?: Codec;
}

/** Checked options, with defaults. */
export interface RedisSettings {
  /** Includes what `url` says. */
  readonly client: ClientOptions;
  /** In braces: a hash tag, which puts all keys into one slot of a cluster. */
  readonly prefix: string;
  readonly lockDurationMs: number;
  readonly stalledIntervalMs: number;
  readonly emitTimeoutMs: number;
  readonly maxCrashes: number;
  readonly maxDeadLetters: number;
  /** 0 for no limit. */
  readonly maxDeadLetterAgeMs: number;
  readonly codec: Codec | undefined;
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
  'maxDeadLetterAgeMs',
  'codec',
] as const;

/** @throws {InvalidOptionError} */
export function resolveRedisOptions(options: RedisTransportOptions): RedisSettings {
  const check = new OptionChecker(options, optionNames, 'redisTransport', undefined, 'type');
  const { client = {}, prefix = 'hub' } = options;
  const { url = options.client === undefined ? 'redis://127.0.0.1:6379' : undefined } = options;
  const { lockDurationMs = 10_000, stalledIntervalMs = 5_000, emitTimeoutMs = 2_000 } = options;
  const { maxCrashes = defaultMaxCrashes, maxDeadLetters = defaultMaxDeadLetters } = options;
  checkClientOptions(new OptionChecker(client, clientOptionNames, 'redisTransport', 'client', 'type'), client);
  const address: ClientOptions = url === undefined ? {} : readUrl(check, url);
  // Those of `client` say how to encrypt, such as with which certificate.
  const tls = client.tls ?? address.tls;
  const isPrefix = typeof prefix === 'string' && /^[^{}:\p{Cc}]{1,64}$/u.test(prefix);
  check.that(isPrefix, 'prefix', '1 to 64 characters without braces, colons and control characters', prefix);
  const times = { lockDurationMs, stalledIntervalMs, emitTimeoutMs };
  for (const [name, ms] of Object.entries(times)) {
    check.count(name, ms, { min: 10, max: maxTimeoutMs });
  }
  check.count('maxCrashes', maxCrashes, { min: leastCrashes });
  check.count('maxDeadLetters', maxDeadLetters, { min: 0 });
  check.durationMs('maxDeadLetterAgeMs', options.maxDeadLetterAgeMs, { min: 1 });
  const { maxDeadLetterAgeMs = 0 } = options;
  const codec = resolveCodec(options.codec, check);
  const connection = { ...client, ...address, ...(tls !== undefined && { tls }) };
  return { client: connection, prefix: `{${prefix}}`, ...times, maxCrashes, maxDeadLetters, maxDeadLetterAgeMs, codec };
}
