import type { Redis, RedisOptions } from 'ioredis';
import { isLoopbackHost } from '../../../options.js';
import { MissingPackageError } from '../../errors.js';
import type { Logger } from '../../transport.js';
import { isRefusedDatabase, withoutArguments } from '../redis-errors.js';
import type { RedisSettings } from '../redis-options.js';
import { followPrimary } from './follow-primary.js';

/** Versions of BullMQ with which Hubline is tested. */
export const supportedBullmq = '6.7';

/** Packages that the transport needs. */
export const packages: string = `bullmq@${supportedBullmq} ioredis@6`;

// Redis stops a script at its first write when memory is used up, unless the script has freed some before. The
// scripts of BullMQ that consumers run lead to freed memory, so that Redis must not stop them.
const runWhenFull = "redis.call('DEL', KEYS[1] .. ':nothing')\n";

/** Properties of one kind of connection. */
export interface ConnectionKind {
  /** If the client sends a command again that a server rejected because it is not the primary. */
  readonly resends: boolean;
  readonly options: RedisOptions;
}

/** Connects with `ioredis`, an optional dependency that is loaded at first use. @throws {MissingPackageError} */
export async function connectRedis({ client }: RedisSettings, { resends, options }: ConnectionKind): Promise<Redis> {
  const { Redis } = await loadIoredis();
  let configured = {};
  const following = followPrimary(() => configured, { resends });
  const redis = insistOnDatabase(new Redis({ ...client, ...options, ...following, replyMapping: 'legacy' }));
  const { host, port } = redis.options;
  configured = { host, port };
  // ioredis listens for the end of the connection once per command that a former primary rejects.
  redis.on('connect', () => redis.stream.setMaxListeners(0));
  return redis;
}

/**
 * Closes each connection whose database Redis refuses, copies of the client included, such as BullMQ makes: ioredis would
 * continue in database 0, where it would take the events of another hub. The copies end with the client.
 */
function insistOnDatabase(redis: Redis): Redis {
  redis.on('error', (error: unknown) => {
    if (isRefusedDatabase(error)) redis.stream.destroy();
  });
  const copies = new Set<Redis>();
  redis.once('end', () => {
    for (const copy of copies) copy.disconnect();
  });
  const duplicate = redis.duplicate.bind(redis);
  redis.duplicate = (override) => {
    const copy = insistOnDatabase(duplicate(override));
    copies.add(copy);
    copy.once('end', () => copies.delete(copy));
    return copy;
  };
  return redis;
}

async function loadIoredis(): Promise<Pick<typeof import('ioredis'), 'Redis'>> {
  try {
    return await import('ioredis');
  } catch (cause) {
    throw new MissingPackageError('redisTransport', packages, cause);
  }
}

// BullMQ waits for a job up to 10 s per command: a connection that is silent for longer is lost.
const socketTimeoutMs = 15_000;

/** Connects for consuming. Commands that are sent while the connection is lost are sent again when it is restored. */
export async function connectConsumer(settings: RedisSettings, logger: Logger): Promise<Redis> {
  const connection = await connectRedis(settings, {
    resends: true,
    options: {
      maxRetriesPerRequest: null,
      socketTimeout: socketTimeoutMs,
      // ioredis would ignore a rejected subscription.
      autoResubscribe: false,
    },
  });
  logConnection(connection, logger);
  // BullMQ has no option for it.
  const define = connection.defineCommand.bind(connection);
  connection.defineCommand = (name, definition) => define(name, { ...definition, lua: runWhenFull + definition.lua });
  return connection;
}

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
