import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { type RedisServer, startRedisServer } from '../../scripts/redis-server.js';
import { startSwitchingProxy } from '../../server/transports/redis/connection/switching-proxy.fixture.js';

/** Primary and replica behind one address. */
export interface ReplicatedRedis {
  /** Address that leads to the primary. */
  readonly url: string;
  /**
   * Swaps the roles of the servers, without the loss of a write. Open connections stay at the former primary, which
   * rejects their writes with READONLY; new ones reach it too until the address leads to the new primary.
   */
  failOver(): Promise<void>;
  release(): Promise<void>;
}

/** Adds a replica to a server. */
export async function replicate(first: RedisServer): Promise<ReplicatedRedis> {
  const second = await startRedisServer();
  const proxy = await startSwitchingProxy(first.port);
  let [primary, replica] = [first, second].map((server) => ({ ...server, admin: new Redis(server.url) })) as [
    RedisServer & { readonly admin: Redis },
    RedisServer & { readonly admin: Redis },
  ];
  const isFollowing = async (): Promise<boolean> =>
    (await replica.admin.info('replication')).includes('master_link_status:up') &&
    (await primary.admin.info('replication')).includes('state=online');
  await replica.admin.replicaof('127.0.0.1', primary.port);
  while (!(await isFollowing())) await delay(10);
  return {
    url: `redis://127.0.0.1:${proxy.port}`,
    async failOver() {
      // Redis pauses writes until the replica has them all.
      await primary.admin.call('FAILOVER', 'TO', '127.0.0.1', replica.port);
      [primary, replica] = [replica, primary];
      while (!(await primary.admin.info('replication')).includes('role:master')) await delay(10);
      await delay(Math.random() * 300);
      proxy.switchTo(primary.port);
      while (!(await isFollowing())) await delay(10);
    },
    async release() {
      proxy.close();
      for (const { admin } of [primary, replica]) admin.disconnect();
      await second.release();
    },
  };
}
