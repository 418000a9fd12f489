import { randomUUID } from 'node:crypto';
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startRedisServer } from '../../../../scripts/redis-server.js';
import { Consumption } from '../../contract/contract-stage.js';
import { envelope } from '../../contract/envelope.js';
import { completed } from '../../contract/outcome.js';
import { silentLogger } from '../../logger.js';
import type { RedisTransportOptions } from '../redis-options.js';
import { redisTransport } from '../redis-transport.js';
import { movedTo } from './follow-primary.js';
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
    const shop = await startShop({ url: `redis://127.0.0.1:${proxy.port}`, emitTimeoutMs: 10_000 });
    await shop.transport.publish([envelope('a')]);
    await until(() => shop.waiting.length === 1);

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
    await until(async () => (await readOnlyErrors(before)) > 10);
    expect((await commandsOf(before)) - commands).toBeLessThan(3_000);
    proxy.switchTo(portOf(after));
    await Promise.all(accepted);
    await until(() => shop.waiting.length === 121);
    const counts = async () => (await shop.transport.counts(['a']))[0]?.total;
    await until(async () => (await counts())?.pending === 0);
    expect(await counts()).toMatchObject({ received: 121, completed: 121 });
    expect(warnings).toEqual([]);
  });
});

async function readOnlyErrors(admin: Redis): Promise<number> {
  return Number(/errorstat_READONLY:count=(\d+)/.exec(await admin.info('errorstats'))?.[1] ?? 0);
}

describe('a cluster', () => {
  it('is entered by any of its nodes', async () => {
    const nodes = await Promise.all([1, 2, 3].map(() => startServer(['--cluster-enabled', 'yes'])));
    const [first] = nodes;
    if (first === undefined) throw new Error('no node');
    for (const [index, node] of nodes.entries()) {
      await node.call('CLUSTER', 'ADDSLOTSRANGE', index * 5_461, index === 2 ? 16_383 : index * 5_461 + 5_460);
      await first.call('CLUSTER', 'MEET', '127.0.0.1', portOf(node));
    }
    for (const node of nodes) {
      await until(async () => String(await node.call('CLUSTER', 'INFO')).includes('cluster_state:ok'));
    }
    const prefix = randomUUID();
    for (const node of nodes) {
      const shop = await startShop({ url: `redis://127.0.0.1:${portOf(node)}`, prefix });
      expect(await shop.transport.kv.set(`k${portOf(node)}`, 'v', { ifAbsent: true })).toBe(true);
      await shop.transport.publish([envelope('a')]);
      await until(() => shop.waiting.length === 1);
      await shop.transport.close({ drainMs: 1_000 });
    }
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
