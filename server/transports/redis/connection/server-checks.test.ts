import { expect, it, onTestFinished, vi } from 'vitest';
import { startRedisServer } from '../../../../scripts/redis-server.js';
import { silentLogger } from '../../transport.js';
import { redisTransport } from '../redis-transport.js';
import { isPrivate } from './connect-redis.js';

it.each([
  [{ host: 'redis.example.com' }, false],
  [{ host: '10.0.0.7' }, false],
  [{ host: 'redis.example.com', tls: {} }, true],
  [{ host: '127.0.0.1' }, true],
  [{ host: '::1' }, true],
  [{ path: '/run/redis.sock' }, true],
  [{ sentinels: [{ host: 'a', port: 1 }] }, false],
  [{}, true],
])('isPrivate(%j) is %j', (options, expected) => {
  expect(isPrivate(options)).toBe(expected);
});

it('a connection that others can read is named in one warning at start, without the password', async () => {
  const server = await startRedisServer();
  onTestFinished(() => server.release());
  const warnings = async (host: string): Promise<unknown[]> => {
    const warn = vi.fn();
    const url = `redis://default:choose-a-password@${host}:${server.port}`;
    const manager = redisTransport({ url, emitTimeoutMs: 60_000 }).connect({
      service: 'shop',
      logger: { ...silentLogger, warn },
    });
    await manager.start({ subscriptions: [{ type: 'a' }], concurrency: 1, onDelivery: () => {} });
    await manager.close({ drainMs: 0 });
    return warn.mock.calls.filter(([, message]) => /encrypted/.test(String(message)));
  };
  expect(await warnings('127.0.0.1')).toEqual([]);
  // It reaches this machine, and is no loopback address.
  expect(await warnings('0.0.0.0')).toEqual([
    [
      {},
      'the connection to Redis is not encrypted: payloads and the password are readable on the network; use rediss://',
    ],
  ]);
});
