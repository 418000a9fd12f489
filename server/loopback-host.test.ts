import { expect, it } from 'vitest';
import { isLoopbackHost } from './loopback-host.js';

it.each([
  ['localhost', true],
  ['LOCALHOST', true],
  ['models.localhost', true],
  ['127.0.0.1', true],
  ['127.4.5.6', true],
  ['::1', true],
  ['[::1]', true],
  ['127.example.com', false],
  ['localhost.example.com', false],
  ['mylocalhost', false],
  ['::2', false],
  ['10.0.0.1', false],
])('isLoopbackHost(%j) is %j', (host, expected) => {
  expect(isLoopbackHost(host)).toBe(expected);
});
