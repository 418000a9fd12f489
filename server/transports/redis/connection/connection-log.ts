import type { Redis } from 'ioredis';
import type { Logger } from '../../logger.js';

/** Returns the delay before a reconnection attempt, in milliseconds. */
export function reconnectDelayMs(attempt: number): number {
  return Math.min(attempt * 50, 1_000);
}

/** Logs one line when a connection is lost and one when it is restored, for any number of attempts between. */
export function logConnection(client: Redis, logger: Logger): void {
  let isLost = false;
  client.on('error', (error: unknown) => {
    if (isLost) return;
    isLost = true;
    logger.warn({ err: error }, 'connection to Redis lost');
  });
  client.on('ready', () => {
    if (isLost) logger.info({}, 'connection to Redis restored');
    isLost = false;
  });
}
