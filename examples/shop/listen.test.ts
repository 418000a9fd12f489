import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { listenFrom, listenOn } from './listen.js';

test('listens on the next port if the first one is in use', async () => {
  const taken = createServer();
  const port = Number(new URL(await listenOn(taken, 0)).port);
  const server = createServer((_req, res) => res.end('here'));
  const url = await listenFrom(server, port);
  expect(Number(new URL(url).port)).toBeGreaterThan(port);
  const response = await fetch(url);
  await expect(response.text()).resolves.toBe('here');
  server.close();
  taken.close();
});

test('rejects with the reason if it cannot listen', async () => {
  const server = createServer();
  await expect(listenOn(server, 65_536)).rejects.toThrow(RangeError);
});
