import { createHub } from '../hub/create-hub.js';
import type { Hub } from '../hub/hub.js';
import { type RedisTransport, redisTransport } from '../transports/redis/redis-transport.js';

/** Options that name the store. */
export interface StoreOptions {
  readonly redis?: string;
  readonly prefix: string;
}

/** Read-only hubs of a store, one per service, opened at their first use. */
export class Connection {
  readonly transport: RedisTransport;
  readonly #hubs = new Map<string, Promise<Hub>>();

  /** @throws {InvalidOptionError} if an option is not valid */
  constructor({ redis = defaultUrl(), prefix }: StoreOptions) {
    this.transport = redisTransport({ url: redis, prefix });
  }

  /** Returns the hub of a service, which replays and cancels for it. */
  hub(service: string = defaultService): Promise<Hub> {
    const opened = this.#hubs.get(service);
    if (opened !== undefined) return opened;
    const hub = createHub({ service, observer: true, transport: this.transport });
    const starting = hub.start().then(() => hub);
    this.#hubs.set(service, starting);
    return starting;
  }

  async close(): Promise<void> {
    for (const opened of this.#hubs.values()) {
      const hub = await opened.catch(() => undefined);
      await hub?.stop({ drainMs: 0 });
    }
  }
}

const defaultService = 'hub';

function defaultUrl(): string {
  return process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379';
}
