import type { Transport } from '../transport.js';
import { RedisManager } from './redis-manager.js';
import { type RedisTransportOptions, resolveRedisOptions } from './redis-options.js';

/**
 * Keeps events in Redis, so that any number of processes share them and none is lost with a process.
 * Needs the packages `bullmq` and `ioredis`, and a Redis (7 or later, or Valkey) with
 * `maxmemory-policy noeviction` and persistence.
 *
 * @example
 * ```ts
 * const hub = createHub({ service: 'shop', transport: redisTransport({ url: 'redis://127.0.0.1:6379' }) });
 * ```
 * @throws {InvalidOptionError}
 */
export function redisTransport(options: RedisTransportOptions = {}): Transport {
  const settings = resolveRedisOptions(options);
  return { connect: ({ service, logger }) => new RedisManager(service, settings, logger) };
}
