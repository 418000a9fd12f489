import { randomUUID } from 'node:crypto';
import type { RedisOptions } from 'ioredis';
import { afterEach, expect, it, vi } from 'vitest';
import { InvalidOptionError } from '../../errors.js';
import { createHub } from '../../hub/create-hub.js';
import type { Hub } from '../../hub/hub.js';
import { silentLogger } from '../transport.js';
import { redisTransport } from './redis-transport.js';
import { startTestRedis } from './test-redis.fixture.js';

const { server, admin } = await startTestRedis();

afterEach(async () => {
  await admin.call('ACL', 'DELUSER', 'app');
  await admin.flushall();
});

/** An option of ioredis. */
interface Case {
  /** A value with which a hub works against a server of its own; none if the transport refuses the option. */
  readonly works?: unknown;
  /** A value that needs another server, such as Sentinel. */
  readonly fits?: unknown;
  readonly wrong: unknown;
}

const text = { works: 'name', wrong: '' };
const flag = { works: true, wrong: 'yes' };
const refused = { wrong: true };

// The type names every option: a new one of ioredis does not compile until it has a row.
const cases: Readonly<Record<keyof Required<RedisOptions>, Case>> = {
  autoPipeliningIgnoredCommands: { wrong: ['get'] },
  autoResendUnfulfilledCommands: refused,
  autoResubscribe: refused,
  blockingTimeout: { wrong: 1 },
  blockingTimeoutGrace: { wrong: 1 },
  clientInfoTag: { works: 'tag', wrong: 'a tag' },
  commandQueue: refused,
  commandTimeout: { wrong: 1 },
  connectionName: { works: 'name', wrong: 'a name' },
  Connector: { wrong: class {} },
  connectTimeout: { works: 10_000, wrong: 0 },
  db: { works: 3, wrong: 'abc' },
  disableClientInfo: flag,
  disconnectTimeout: { works: 100, wrong: '1' },
  enableAutoPipelining: refused,
  enableOfflineQueue: refused,
  enableReadyCheck: refused,
  enableTLSForSentinelMode: flag,
  failoverDetector: flag,
  family: { works: 4, wrong: 5 },
  himportFieldsets: { wrong: [] },
  host: { works: '127.0.0.1', wrong: '' },
  keepAlive: { works: 0, wrong: -1 },
  keyPrefix: { wrong: 'x' },
  lazyConnect: refused,
  maxLoadingRetryTime: { wrong: 1 },
  maxRetriesPerRequest: { wrong: 1 },
  monitor: refused,
  name: text,
  natMap: { works: {}, wrong: 1 },
  noDelay: { works: false, wrong: 1 },
  offlineQueue: refused,
  password: { fits: 'secret', wrong: 1 },
  path: { fits: '/tmp/redis.sock', wrong: '' },
  port: { works: server.port, wrong: 70_000 },
  preferredSlaves: { wrong: [] },
  protocol: { works: 2, wrong: 4 },
  readOnly: refused,
  reconnectOnError: { wrong: () => true },
  replyMapping: { wrong: 'resp3' },
  retryStrategy: { wrong: () => null },
  role: { works: 'master', wrong: 'slave' },
  scripts: { wrong: {} },
  sentinelCommandTimeout: { works: 10_000, wrong: 0 },
  sentinelMaxConnections: { works: 3, wrong: 0 },
  sentinelPassword: { works: 'secret', wrong: 1 },
  sentinelReconnectStrategy: { works: () => 1, wrong: 1 },
  sentinelRetryStrategy: { wrong: () => null },
  sentinels: { fits: [{ host: '127.0.0.1', port: 1 }], wrong: [] },
  sentinelTLS: { works: {}, wrong: true },
  sentinelUsername: { works: 'user', wrong: 1 },
  showFriendlyErrorStack: flag,
  socketTimeout: { wrong: 1 },
  stringNumbers: refused,
  tls: { fits: {}, wrong: 'yes' },
  updateSentinels: flag,
  username: { fits: 'user', wrong: 1 },
};

/** Returns a transport with an option that TypeScript may refuse. */
function transportWith(name: string, value: unknown): ReturnType<typeof redisTransport> {
  const named = name === 'sentinels' ? { name: 'primary' } : {};
  const client = { host: '127.0.0.1', port: server.port, ...named, [name]: value };
  return redisTransport({ client, prefix: randomUUID(), emitTimeoutMs: 60_000 });
}

/** Runs a workflow and an event with a limit, which use all kinds of connections. */
async function useHub(hub: Hub): Promise<void> {
  let onHandled = (): void => {};
  const handled = new Promise<void>((resolve) => {
    onHandled = resolve;
  });
  hub.event({ type: 'placed', concurrency: 1, handler: () => onHandled() });
  await hub.start();
  await hub.emit('placed', { n: 1 });
  await handled;
  await vi.waitFor(async () => expect(await hub.metrics('placed')).toMatchObject({ completed: 1 }), 60_000);
}

const rows = Object.entries(cases);

it.each(rows.filter(([, { works }]) => works !== undefined))('a hub works with client.%s', async (name, { works }) => {
  const hub = createHub({ transport: transportWith(name, works), logger: silentLogger });
  try {
    await useHub(hub);
  } finally {
    await hub.stop({ drainMs: 0 });
  }
});

it.each(rows.filter(([, { fits }]) => fits !== undefined))('client.%s is accepted', (name, { fits }) => {
  expect(() => transportWith(name, fits)).not.toThrow();
});

it.each(rows)('a wrong value of client.%s is refused where it is given', (name, { wrong }) => {
  expect(() => transportWith(name, wrong)).toThrow(InvalidOptionError);
  expect(() => transportWith(name, wrong)).toThrow(`client.${name} of redisTransport`);
});

it('an option that ioredis does not have is refused, and sentinels without a name', () => {
  expect(() => transportWith('hots', '127.0.0.1')).toThrow(InvalidOptionError);
  expect(() => redisTransport({ client: { sentinels: [{ host: '127.0.0.1' }] } })).toThrow('client.name');
});

it.each(['/abc', '/-1', '/1/2', '/1.5', '?lazyConnect=true', '?db=1', '?family=5', '#1'])(
  'a URL with %s is refused, without its password',
  (rest) => {
    const create = (): unknown => redisTransport({ url: `redis://:s3cret@127.0.0.1:${server.port}${rest}` });
    expect(create).toThrow(InvalidOptionError);
    expect(create).not.toThrow('s3cret');
  },
);

it.each([
  ['', 0],
  ['/', 0],
  ['/0', 0],
  ['/3', 3],
  ['/3?family=4', 3],
])('a URL with the path %j stands for database %i', async (rest, database) => {
  const transport = redisTransport({ url: `redis://127.0.0.1:${server.port}${rest}`, emitTimeoutMs: 60_000 });
  const manager = transport.connect({ service: 'shop', logger: silentLogger });
  await manager.kv.set('k', 'v');
  await manager.close({ drainMs: 0 });
  const keyspace = await admin.info('keyspace');
  expect(keyspace.match(/^db\d+/gm)).toEqual([`db${database}`]);
});

it('start and every command reject if the server does not have the database, and nothing is written', async () => {
  const transport = redisTransport({ url: `${server.url}/99`, emitTimeoutMs: 60_000 });
  const hub = createHub({ transport, logger: silentLogger });
  hub.event({ type: 'placed', handler: () => {} });
  await expect(hub.start()).rejects.toMatchObject({ code: 'ERR_REDIS_DATABASE' });
  const manager = transport.connect({ service: 'shop', logger: silentLogger });
  await expect(manager.kv.set('k', 'v')).rejects.toMatchObject({ code: 'ERR_REDIS_DATABASE' });
  await manager.close({ drainMs: 0 });
  await hub.stop();
  expect(await admin.info('keyspace')).not.toContain('db');
});

it('a hub that loses the right to select its database never continues in database 0', async () => {
  await admin.call('ACL', 'SETUSER', 'app', 'on', 'nopass', '~*', '&*', '+@all');
  const url = `redis://app@127.0.0.1:${server.port}/3`;
  const hub = createHub({ transport: redisTransport({ url, emitTimeoutMs: 60_000 }), logger: silentLogger });
  await useHub(hub);
  await admin.call('ACL', 'SETUSER', 'app', '-select');
  await admin.call('CLIENT', 'KILL', 'USER', 'app');
  await expect(hub.emit('placed', { n: 2 })).rejects.toMatchObject({ code: 'ERR_REDIS_DATABASE' });
  expect(await admin.dbsize()).toBe(0);
  await admin.call('ACL', 'SETUSER', 'app', '+select');
  await vi.waitFor(async () => hub.emit('placed', { n: 3 }), 60_000);
  await vi.waitFor(async () => expect(await hub.metrics('placed')).toMatchObject({ completed: 2 }), 60_000);
  await hub.stop({ drainMs: 0 });
  expect(await admin.dbsize()).toBe(0);
});
