import { randomUUID } from 'node:crypto';
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startRedisServer } from '../../../../scripts/redis-server.js';
import { Consumption } from '../../contract/contract-stage.js';
import { envelope } from '../../contract/envelope.js';
import { completed } from '../../contract/outcome.js';
import { silentLogger } from '../../transport.js';
import { movedTo } from '../redis-errors.js';
import type { RedisTransportOptions } from '../redis-options.js';
import { redisTransport } from '../redis-transport.js';
import { followPrimary } from './follow-primary.js';
import { startSwitchingProxy } from './switching-proxy.fixture.js';

async function startServer(settings: readonly string[] = []): Promise<Redis> {
  const server = await startRedisServer(settings);
  const admin = new Redis(server.url);
  onTestFinished(async () => {
    admin.disconnect();
    await server.release();
  });
  return admin;
}

function portOf({ options }: Redis): number {
  return Number(options.port);
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await delay(10);
}

async function commandsOf(admin: Redis): Promise<number> {
  return Number(/total_commands_processed:(\d+)/.exec(await admin.info('stats'))?.[1]);
}

/** Starts a connection that completes each delivery. */
async function startShop(options: RedisTransportOptions): Promise<Consumption> {
  const transport = redisTransport({ prefix: randomUUID(), lockDurationMs: 1_000, stalledIntervalMs: 500, ...options });
  const shop = new Consumption(transport.connect({ service: 'shop', logger: silentLogger }));
  onTestFinished(async () => {
    await shop.transport.close({ drainMs: 0 });
  });
  await shop.transport.start({
    subscriptions: [{ type: 'a' }],
    concurrency: 10,
    onDelivery: (delivery) => {
      shop.take(delivery);
      void delivery.commit(completed());
    },
  });
  return shop;
}

describe('a failover that leaves connections open', () => {
  it('is followed: events are accepted and handled on the new primary, with few commands', async () => {
    const [before, after] = [await startServer(), await startServer()];
    await after.replicaof('127.0.0.1', portOf(before));
    await until(async () => (await after.info('replication')).includes('master_link_status:up'));
    const proxy = await startSwitchingProxy(portOf(before));
    onTestFinished(() => proxy.close());
    const shop = await startShop({ url: `redis://127.0.0.1:${proxy.port}`, emitTimeoutMs: 60_000 });
    const counts = async () => (await shop.transport.counts.get(['a']))[0]?.total;
    await shop.transport.publish([envelope('a')]);
    await until(async () => (await counts())?.completed === 1);
    // A failover loses what the replica does not have yet.
    await before.call('SET', 'sent', '1');
    await until(async () => (await after.get('sent')) === '1');

    const warnings: Error[] = [];
    const warn = (warning: Error): number => warnings.push(warning);
    process.on('warning', warn);
    onTestFinished(() => void process.off('warning', warn));
    await after.replicaof('NO', 'ONE');
    await before.replicaof('127.0.0.1', portOf(after));
    const commands = await commandsOf(before);
    const accepted = [Promise.all(Array.from({ length: 100 }, () => shop.transport.publish([envelope('a')])))];
    // Commands of their own, which wait for the connection and are rejected together.
    for (let n = 0; n < 20; n += 1) {
      accepted.push(Promise.all([shop.transport.publish([envelope('a')])]));
      await setImmediate();
    }
    // The name still leads to the old primary for a while.
    let looks = 0;
    await until(async () => {
      looks += 1;
      return (await readOnlyErrors(before)) > 10;
    });
    expect((await commandsOf(before)) - commands - looks).toBeLessThan(3_000);
    proxy.switchTo(portOf(after));
    await Promise.all(accepted);
    // A process that falls behind may lose a lease, and its event is delivered again.
    await until(() => new Set(shop.waiting.map(({ envelope: { id } }) => id)).size === 121);
    await until(async () => (await counts())?.pending === 0);
    expect(await counts()).toMatchObject({ received: 121, completed: 121 });
    expect(warnings).toEqual([]);
  });
});

async function readOnlyErrors(admin: Redis): Promise<number> {
  return Number(/errorstat_READONLY:count=(\d+)/.exec(await admin.info('errorstats'))?.[1] ?? 0);
}

describe('a server that rejects commands for a while', () => {
  it('receives few repetitions of a command', async () => {
    // A node of a cluster to which nobody has assigned slots.
    const node = await startServer(['--cluster-enabled', 'yes']);
    const transport = redisTransport({ url: `redis://127.0.0.1:${portOf(node)}`, emitTimeoutMs: 1_000 });
    const shop = transport.connect({ service: 'shop', logger: silentLogger });
    onTestFinished(async () => void (await shop.close({ drainMs: 0 })));
    let rejections = 0;
    // A busy machine may take longer for the first connection than a command has.
    while (rejections === 0) {
      await expect(shop.kv.set('k', 'v')).rejects.toMatchObject({ code: 'ERR_TRANSPORT_UNAVAILABLE' });
      rejections = Number(/errorstat_CLUSTERDOWN:count=(\d+)/.exec(await node.info('errorstats'))?.[1] ?? 0);
    }
    expect(rejections).toBeLessThan(20);
  });
});

describe('followPrimary', () => {
  const readOnly = new Error("READONLY You can't write against a read only replica.");

  it('waits longer before each connection to a server that rejects again, and forgets it after one that does not', () => {
    // ioredis calls them as methods of the options of a connection.
    const connection = { port: 1, ...followPrimary(() => ({ port: 1 }), { resends: false }) };
    const rejectedDelays = (count: number): unknown[] => {
      return Array.from({ length: count }, () => {
        connection.reconnectOnError?.(readOnly);
        return connection.retryStrategy?.(1);
      });
    };
    expect(rejectedDelays(25)).toEqual(Array.from({ length: 25 }, (_, index) => Math.min(50 * (index + 1), 1_000)));
    // The connection was lost for another reason.
    expect(connection.retryStrategy?.(1)).toBe(50);
    expect(rejectedDelays(2)).toEqual([50, 100]);
  });
});

describe('movedTo', () => {
  it.each([
    ['MOVED 3999 10.0.0.7:6381', { host: '10.0.0.7', port: 6381 }],
    ['MOVED 3999 ::1:6381', { host: '::1', port: 6381 }],
    ['MOVED 3999 :6381', { port: 6381 }],
    ['ERR MOVED', undefined],
  ])('reads %j', (message, address) => {
    expect(movedTo(message)).toEqual(address);
  });
});
