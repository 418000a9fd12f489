import { expect, it } from 'vitest';
import { isPrivate } from './server-checks.js';

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
