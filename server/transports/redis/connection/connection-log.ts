import type { Redis } from 'ioredis';
import type { Logger } from '../../transport.js';
import { withoutArguments } from '../redis-errors.js';

/** Logs one line when a connection is lost and one when it is restored, for any number of attempts between. */
export function logConnection(client: Redis, logger: Logger): void {
  let isLost = false;
  client.on('error', (error: unknown) => {
    if (isLost) return;
    isLost = true;
    logger.warn({ err: withoutArguments(error) }, 'connection to Redis lost');
  });
  client.on('ready', () => {
    if (isLost) logger.info({}, 'connection to Redis restored');
    isLost = false;
  });
}
