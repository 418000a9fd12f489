import type { Redis } from 'ioredis';
import type { Logger } from '../../transport.js';
import { withoutArguments } from '../redis-errors.js';
import { redisKey } from '../scripts/keys.js';

/** Listens for settlements of a service. Without it a process learns of them with its next heartbeat. */
export class SettlementListener {
  readonly #connection: Redis;
  readonly #logger: Logger;

  constructor(connection: Redis, logger: Logger) {
    this.#connection = connection;
    this.#logger = logger;
  }

  async start(prefix: string, service: string, onSettled: () => void): Promise<void> {
    const channel = redisKey(prefix, 'settled');
    this.#connection.on('message', (from: string, message: string) => {
      if (from === channel && message === service) onSettled();
    });
    await this.#subscribe(channel);
    // Announcements are lost while the connection is.
    this.#connection.on('ready', () => void this.#subscribe(channel).then(onSettled));
  }

  async #subscribe(channel: string): Promise<void> {
    try {
      await this.#connection.subscribe(channel);
    } catch (error) {
      this.#logger.warn(
        { err: withoutArguments(error) },
        'could not subscribe to settlements; starts and stops of other processes take up to 5 s to take effect',
      );
    }
  }

  close(): void {
    this.#connection.disconnect();
  }
}
