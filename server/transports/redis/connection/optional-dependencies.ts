import type { Redis } from 'ioredis';
import { MissingPackageError } from '../../errors.js';
import type { ClientOptions, RedisSettings } from '../redis-options.js';
import { supportedBullmq } from './bullmq-scripts.js';
import { followPrimary } from './follow-primary.js';

const packages = `bullmq@${supportedBullmq} ioredis@6`;

/** Properties of one kind of connection. */
export interface ConnectionKind {
  /** If the client sends a command again that a server rejected because it is not the primary. */
  readonly resends: boolean;
  readonly options: ClientOptions;
}

/** Connects with `ioredis`, an optional dependency that is loaded at first use. @throws {MissingPackageError} */
export async function connectRedis(
  { url, client }: RedisSettings,
  { resends, options }: ConnectionKind,
): Promise<Redis> {
  const { Redis } = await loadIoredis();
  let configured = {};
  const following = followPrimary(() => configured, { resends });
  const all = { ...client, ...options, ...following, replyMapping: 'legacy' } as const;
  const redis = url === undefined ? new Redis(all) : new Redis(url, all);
  const { host, port } = redis.options;
  configured = { host, port };
  // ioredis listens for the end of the connection once per command that a former primary rejects.
  redis.on('connect', () => redis.stream.setMaxListeners(0));
  return redis;
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
