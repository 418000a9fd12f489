import type { Redis } from 'ioredis';
import type { Logger } from '../../logger.js';

/** Warns where Redis may drop keys when its memory is used up: events would go with them. */
export async function warnOfEviction(client: Redis, logger: Logger): Promise<void> {
  const policy = /^maxmemory_policy:(\S+)/m.exec(await client.info('memory'))?.[1];
  if (policy === undefined || policy === 'noeviction') return;
  logger.warn({ policy }, `Redis may drop events: set maxmemory-policy to noeviction, it is ${policy}`);
}
