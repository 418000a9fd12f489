import type { Redis } from 'ioredis';
import { isLoopbackHost } from '../../../options.js';
import type { Logger } from '../../transport.js';

/** Warns if Redis evicts keys when memory is used up, because it would evict events, and if the connection is open to others. */
export async function checkServer(client: Redis, logger: Logger): Promise<void> {
  const policy = /^maxmemory_policy:(\S+)/m.exec(await client.info('memory'))?.[1];
  if (policy !== undefined && policy !== 'noeviction') {
    logger.warn({ policy }, `Redis may evict events: set maxmemory-policy to noeviction, it is ${policy}`);
  }
  if (!isPrivate(client.options)) {
    logger.warn(
      {},
      'the connection to Redis is not encrypted: payloads and the password are readable on the network; use rediss://',
    );
  }
}

/** Returns if nobody else can read a connection: it is encrypted, or stays on this machine. */
export function isPrivate({
  tls,
  path,
  sentinels,
  host = 'localhost',
}: Pick<Redis['options'], 'tls' | 'path' | 'sentinels' | 'host'>): boolean {
  if (tls !== undefined || (path !== undefined && path !== null)) return true;
  if (sentinels !== undefined && sentinels !== null) return false;
  return isLoopbackHost(host);
}
