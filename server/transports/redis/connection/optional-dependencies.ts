import type { Redis } from 'ioredis';
import { MissingPackageError } from '../../errors.js';
import type { ClientOptions, RedisSettings } from '../redis-options.js';

const packages = 'bullmq@6.7 ioredis@6';

/** Loads the Redis client, an optional peer, at its first use, and connects. @throws {MissingPackageError} */
export async function connectRedis({ url, client }: RedisSettings, options: ClientOptions): Promise<Redis> {
  const { Redis } = await loadRedisClient();
  const all = { ...client, ...options, replyMapping: 'legacy' } as const;
  return url === undefined ? new Redis(all) : new Redis(url, all);
}

async function loadRedisClient(): Promise<Pick<typeof import('ioredis'), 'Redis'>> {
  try {
    return await import('ioredis');
  } catch (cause) {
    throw new MissingPackageError('redisTransport', packages, cause);
  }
}

/** Loads the queue, an optional peer, at its first use. @throws {MissingPackageError} */
export async function loadQueue(): Promise<Pick<typeof import('bullmq'), 'Worker' | 'WaitingError'>> {
  try {
    return await import('bullmq');
  } catch (cause) {
    throw new MissingPackageError('redisTransport', packages, cause);
  }
}
