import type { Redis } from 'ioredis';
import type { Logger } from '../../logger.js';

/** Warns if Redis evicts keys when memory is used up: it would evict events. */
export async function warnOfEviction(client: Redis, logger: Logger): Promise<void> {
  const policy = /^maxmemory_policy:(\S+)/m.exec(await client.info('memory'))?.[1];
  if (policy === undefined || policy === 'noeviction') return;
  logger.warn({ policy }, `Redis may evict events: set maxmemory-policy to noeviction, it is ${policy}`);
}
