import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { type ReservedPort, reservePort } from './listen-locally.js';

// No other caller draws from this range.
const range = { start: 32_000, end: 32_016 };

/** Reserves ports of the range, several at a time, until none is left. */
async function reserveAll(): Promise<readonly ReservedPort[]> {
  const drawn = await Promise.allSettled(Array.from({ length: 12 }, () => reservePort(range)));
  const ports = drawn.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  onTestFinished(() => {
    for (const port of ports) port.release();
  });
  return ports;
}

test('a reserved port is given to nobody else until its release, although no server listens on it', async () => {
  const ports = await reserveAll();
  const [first] = ports;
  if (first === undefined) throw new Error('no port was free');
  expect(new Set(ports.map(({ port }) => port)).size).toBe(ports.length);
  await expect(reservePort(range)).rejects.toThrow('no port from 32000 to 32016 is free');
  const server = createServer().listen(first.port, '127.0.0.1');
  await once(server, 'listening');
  await once(server.close(), 'close');
  await expect(reservePort(range)).rejects.toThrow('is free');
  first.release();
  const again = await reservePort(range);
  onTestFinished(() => again.release());
  expect(again.port).toBe(first.port);
});

test('a port on which a server listens is left out', async () => {
  const [first, ...others] = await reserveAll();
  if (first === undefined) throw new Error('no port was free');
  for (const port of others) port.release();
  first.release();
  const server = createServer().listen(first.port, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  expect((await reserveAll()).map(({ port }) => port)).not.toContain(first.port);
});
