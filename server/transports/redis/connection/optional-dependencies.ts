import type { Redis } from 'ioredis';
import { MissingPackageError } from '../../errors.js';
import type { ClientOptions, RedisSettings } from '../redis-options.js';
import { supportedBullmq } from './bullmq-scripts.js';

const packages = `bullmq@${supportedBullmq} ioredis@6`;

/** Connects with `ioredis`, an optional dependency that is loaded at first use. @throws {MissingPackageError} */
export async function connectRedis({ url, client }: RedisSettings, options: ClientOptions): Promise<Redis> {
  const { Redis } = await loadIoredis();
  const all = { ...client, ...options, replyMapping: 'legacy' } as const;
  return url === undefined ? new Redis(all) : new Redis(url, all);
}

async function loadIoredis(): Promise<Pick<typeof import('ioredis'), 'Redis'>> {
  try {
    return await import('ioredis');
  } catch (cause) {
    throw new MissingPackageError('redisTransport', packages, cause);
  }
}

/** Loads `bullmq`, an optional dependency, at first use. @throws {MissingPackageError} */
export async function loadBullmq(): Promise<Pick<typeof import('bullmq'), 'Worker' | 'WaitingError'>> {
  try {
    return await import('bullmq');
  } catch (cause) {
    throw new MissingPackageError('redisTransport', packages, cause);
  }
}
