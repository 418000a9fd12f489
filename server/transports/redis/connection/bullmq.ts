import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { isDeepStrictEqual } from 'node:util';
import type { RedisQueueBackend, WorkerOptions } from 'bullmq';
import type { Redis } from 'ioredis';
import { MissingPackageError } from '../../errors.js';
import { isOutOfMemory, isWriteRefused, UnsupportedVersionError } from '../redis-errors.js';
import type { RedisSettings } from '../redis-options.js';
import { packages, supportedBullmq } from './connect-redis.js';
import { queueKey, redisKey } from './keys.js';

/** Exports of BullMQ that the transport uses. */
export type Bullmq = Pick<typeof import('bullmq'), 'createRedisBackend'>;

/** Part of BullMQ's backend of a queue that the transport uses. */
export type QueueBackend = Pick<
  RedisQueueBackend,
  | 'waitUntilReady'
  | 'waitForJob'
  | 'minimumBlockTimeout'
  | 'maximumBlockTimeout'
  | 'blockingClient'
  | 'reconnectBlocking'
  | 'moveStalledJobsToWait'
  | 'toKey'
  | 'on'
  | 'close'
>;

/** Loads `bullmq`, an optional dependency, at first use. @throws {MissingPackageError} */
export async function loadBullmq(): Promise<Bullmq> {
  try {
    return await import('bullmq');
  } catch (cause) {
    throw new MissingPackageError('redisTransport', packages, cause);
  }
}

// BullMQ would fail the job by itself: scripts.countCrash counts losses instead.
const neverFailStalled = 1_000_000_000;

/** Properties of a backend. */
export interface BackendOptions {
  readonly connection: Redis;
  readonly settings: Pick<RedisSettings, 'prefix' | 'stalledIntervalMs'>;
  /** If the backend can wait for a job, with a connection of its own. */
  readonly isBlocking: boolean;
}

/** Opens BullMQ's backend of a worker queue. */
export function openQueueBackend(
  { createRedisBackend }: Bullmq,
  name: string,
  { connection, settings, isBlocking }: BackendOptions,
): QueueBackend {
  const options: WorkerOptions = {
    connection,
    prefix: redisKey(settings.prefix, 'queue'),
    stalledInterval: settings.stalledIntervalMs,
    maxStalledCount: neverFailStalled,
    skipVersionCheck: !isBlocking,
  };
  return createRedisBackend(name, options, { withBlockingConnection: isBlocking });
}

type Popped = ReturnType<Awaited<NonNullable<QueueBackend['blockingClient']>>['bzpopmin']>;

/** Lets a backend wait for the marker of its process too, which wakes no other one. BullMQ waits for one marker. */
export async function awaitOwnMarker(backend: QueueBackend, processId: string): Promise<void> {
  const client = await backend.blockingClient;
  if (client === undefined) return;
  // BullMQ declares the one key that it uses, but this is a client of ioredis, which takes several.
  const pop = client.bzpopmin.bind(client) as unknown as (...args: [string, string, number]) => Popped;
  client.bzpopmin = (marker, timeout) => pop(marker, `${marker}:${processId}`, timeout);
}

/**
 * Checks what the scripts of Hubline expect of BullMQ beyond its public interface: the keys of a queue, and what
 * `moveStalledJobsToWait` does to a lost job. The check runs on a queue of its own, which it removes.
 *
 * @throws {UnsupportedVersionError | MissingPackageError}
 */
export async function checkBullmq(client: Redis, prefix: string): Promise<void> {
  const bullmq = await loadBullmq();
  if (typeof bullmq.createRedisBackend !== 'function') throw unsupported('createRedisBackend is exported');
  const name = randomUUID();
  const key = queueKey(prefix, name);
  const settings = { prefix, stalledIntervalMs: 60_000 };
  const backend = openQueueBackend(bullmq, name, { connection: client, settings, isBlocking: false });
  try {
    if (backend.toKey('') !== key) throw unsupported('the keys of a queue begin with prefix and name');
    await backend.waitUntilReady();
    const differing = await recover(client, backend, key);
    if (differing !== undefined) throw unsupported(`moveStalledJobsToWait ${differing}`);
  } catch (error) {
    // The check has to write. A process may start although Redis refuses writes at present.
    if (!isOutOfMemory(error) && !isWriteRefused(error)) throw error;
  } finally {
    await backend.close();
  }
}

/** Lets BullMQ recover a lost job; returns the first expectation that does not hold. */
async function recover(client: Redis, backend: QueueBackend, key: string): Promise<string | undefined> {
  const suffixes = ['active', 'wait', 'stalled', 'stalled-check', 'meta', 'marker', 'events', 'lost', 'leased:lock'];
  try {
    await Promise.all([
      client.lpush(`${key}active`, 'lost', 'leased'),
      client.lpush(`${key}wait`, 'released'),
      client.hset(`${key}lost`, 'name', 'check'),
      client.set(`${key}leased:lock`, 'token'),
    ]);
    // The first search notes the active jobs, the second one finds those without a lock.
    await backend.moveStalledJobsToWait();
    await client.del(`${key}stalled-check`);
    await backend.moveStalledJobsToWait();
    const expectations: readonly (readonly [string, unknown, unknown])[] = [
      ['leaves a leased job active', await client.lrange(`${key}active`, 0, -1), ['leased']],
      ['lets a lost job start first', await client.lrange(`${key}wait`, 0, -1), ['released', 'lost']],
      ['only counts the loss in the job', await client.hgetall(`${key}lost`), { name: 'check', stc: '1' }],
      ['sets the marker', await client.zrange(`${key}marker`, '0', '-1', 'WITHSCORES'), ['0', '0']],
    ];
    return expectations.find(([, found, expected]) => !isDeepStrictEqual(found, expected))?.[0];
  } finally {
    await client.del(...suffixes.map((suffix) => key + suffix));
  }
}

function unsupported(expectation: string): UnsupportedVersionError {
  const { version } = createRequire(import.meta.url)('bullmq/package.json') as { readonly version: string };
  return new UnsupportedVersionError(version, expectation, supportedBullmq);
}
