import { connectCoded } from '../coded-transport.js';
import { checkRetireArguments, type RetireOptions, type RetireResult } from '../services.js';
import { silentLogger, type Transport } from '../transport.js';
import { CommandClient } from './connection/command-client.js';
import { RedisManager } from './redis-manager.js';
import { type RedisTransportOptions, resolveRedisOptions } from './redis-options.js';
import { removeService } from './remove-service.js';

/** Transport that `redisTransport` returns. */
export interface RedisTransport extends Transport {
  /**
   * Ends subscriptions of a service that will not return, all or some: from now on no events are queued for it.
   * Rejects, and changes nothing, if a process handles one of the types, or, without `discard`, if events are pending
   * or dead letters retained. Counts, the last failures and the last runs stay. A hub of the service that starts later
   * subscribes again.
   *
   * @example
   * ```ts
   * const { events, deadLetters } = await redisTransport({ url }).retire('old-mail', { discard: true });
   * ```
   * @throws {ServiceRunningError | PendingEventsError | NotSubscribedError | UnexpectedDataError | TransportUnavailableError | InvalidOptionError}
   */
  retire(service: string, options?: RetireOptions): Promise<RetireResult>;
}

/**
 * Creates a transport that stores events in Redis. Any number of processes share them, and no event is lost with a
 * process. Needs the packages `bullmq` and `ioredis`, and Redis 7 or later, or Valkey, with
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
    connect: ({ service, logger }) => connectCoded(new RedisManager(service, settings, logger), settings.codec),
    async retire(service, retireOptions = {}) {
      checkRetireArguments(service, retireOptions);
      const commands = new CommandClient(settings, silentLogger);
      try {
        return await removeService(commands, service, retireOptions);
      } finally {
        await commands.close();
      }
    },
  };
}
