import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type RedisServer, startRedisServer } from '../../../../scripts/redis-server.js';
import { createHub } from '../../../hub/create-hub.js';
import { UnsupportedVersionError } from '../redis-errors.js';
import { redisTransport } from '../redis-transport.js';
import { checkBullmq } from './bullmq.js';
import { supportedBullmq } from './connect-redis.js';

let server: RedisServer;

beforeAll(async () => {
  server = await startRedisServer();
  return () => server.release();
});

afterEach(() => vi.restoreAllMocks());

async function withClient<T>(use: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(server.url);
  try {
    return await use(client);
  } finally {
    client.disconnect();
  }
}

/** Changes each script of BullMQ that contains the text. */
function changeScripts(text: string, changed: string): void {
  const define = Redis.prototype.defineCommand;
  vi.spyOn(Redis.prototype, 'defineCommand').mockImplementation(function (this: Redis, name, definition) {
    const lua = definition.lua.replaceAll(text, changed);
    return define.call(this, name, { ...definition, lua });
  });
}

describe('checkBullmq', () => {
  it('accepts the installed BullMQ, and leaves no key behind', () =>
    withClient(async (client) => {
      const prefix = randomUUID();
      await checkBullmq(client, prefix);
      expect(await client.keys(`*${prefix}*`)).toEqual([]);
    }));

  it.each([
    ['leaves a leased job active', '(rcall("EXISTS", jobKey .. ":lock") == 0)', '(true)'],
    ['lets a lost job start first', '"RPUSH"', '"LPUSH"'],
    ['lets a lost job start first', 'rcall(pushCmd, targetKey, jobId)', "rcall('ZADD', targetKey .. 'new', 0, jobId)"],
    ['only counts the loss', '"stc", 1', '"stalled", 1'],
    ['only counts the loss', 'stalledCount > maxStalledJobCount', 'true'],
    ['sets the marker', 'rcall("ZADD", markerKey, 0, "0")', ''],
  ])('refuses a BullMQ of which it does not hold that moveStalledJobsToWait %s', (expectation, text, changed) =>
    withClient(async (client) => {
      const prefix = randomUUID();
      changeScripts(text, changed);
      const refused = checkBullmq(client, prefix);
      await expect(refused).rejects.toThrow(UnsupportedVersionError);
      await expect(refused).rejects.toThrow(expectation);
      expect(await client.keys(`{${prefix}}*`)).toEqual([]);
    }),
  );

  it('names the installed version, and the one to install, before the process joins its service', async () => {
    changeScripts('"RPUSH"', '"LPUSH"');
    const hub = createHub({ transport: redisTransport({ url: server.url, prefix: randomUUID() }) });
    hub.event({ type: 'a', handler: () => {} });
    const { version } = JSON.parse(readFileSync('node_modules/bullmq/package.json', 'utf8'));
    const start = hub.start();
    await expect(start).rejects.toThrow(`cannot use bullmq@${version}`);
    await expect(start).rejects.toThrow(`install bullmq@${supportedBullmq}`);
    await hub.stop();
  });

  it('lets a process start while Redis refuses writes', () =>
    withClient(async (client) => {
      await client.config('SET', 'maxmemory', '1');
      try {
        await checkBullmq(client, randomUUID());
      } finally {
        await client.config('SET', 'maxmemory', '0');
      }
    }));

  it('supports the versions that package.json allows', () => {
    const { peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(peerDependencies.bullmq).toBe(`~${supportedBullmq}.0`);
  });
});
