import type { Redis } from 'ioredis';
import type { Logger } from '../../logger.js';

/** How long to wait before the next attempt to connect. */
export function reconnectDelayMs(attempt: number): number {
  return Math.min(attempt * 50, 1_000);
}

/** Logs when a connection is lost and when it is back, a line each, however many attempts lie between. */
export function logOutages(client: Redis, logger: Logger): void {
  let isOut = false;
  client.on('error', (error: unknown) => {
    if (isOut) return;
    isOut = true;
    logger.warn({ err: error }, 'Redis is out of reach');
  });
  client.on('ready', () => {
    if (isOut) logger.info({}, 'Redis is back');
    isOut = false;
  });
}
