import { silentLogger } from '../logger.js';
import type { Transport } from '../transport.js';
import { CommandClient } from './connection/command-client.js';
import { RedisManager } from './redis-manager.js';
import { type RedisTransportOptions, resolveRedisOptions } from './redis-options.js';
import { checkRetireArguments, Retirement, type RetireOptions, type RetireResult } from './removal/remove-service.js';

/** What `redisTransport` makes. */
export interface RedisTransport extends Transport {
  /**
   * Ends the subscriptions of a service that never returns, or some of them: from now on nothing is kept for it. Its
   * counts stay, and the last failures and runs. Does nothing where a process handles what is to be retired, nor,
   * without `discard`, where events are pending or dead letters kept. A hub of the service that starts later
   * subscribes anew.
   *
   * @example
   * ```ts
   * const { events, deadLetters } = await redisTransport({ url }).retire('old-mail', { discard: true });
   * ```
   * @throws {ServiceRunningError | PendingEventsError | NotSubscribedError | TransportUnavailableError | InvalidOptionError}
   */
  retire(service: string, options?: RetireOptions): Promise<RetireResult>;
}

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
export function redisTransport(options: RedisTransportOptions = {}): RedisTransport {
  const settings = resolveRedisOptions(options);
  return {
    connect: ({ service, logger }) => new RedisManager(service, settings, logger),
    async retire(service, retireOptions = {}) {
      checkRetireArguments(service, retireOptions);
      const commands = new CommandClient(settings, silentLogger);
      try {
        return await new Retirement(commands, settings.prefix, service).run(retireOptions);
      } finally {
        await commands.close();
      }
    },
  };
}
