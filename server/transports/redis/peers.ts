import { MissingPackageError } from '../../errors.js';

const packages = 'bullmq ioredis';

/** Loads the Redis client, an optional peer, at its first use. @throws {MissingPackageError} */
export async function loadRedisClient(): Promise<Pick<typeof import('ioredis'), 'Redis'>> {
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
