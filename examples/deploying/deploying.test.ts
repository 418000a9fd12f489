import { expect, onTestFinished, test, vi } from 'vitest';
import { freePort } from '../../scripts/listen-locally.js';
import { startRedisServer } from '../../scripts/redis-server.js';
import { startExample } from '../testing/start-example.js';

test('a paused type is handled after its resume', async () => {
  const end = await startExample('deploying/pauses.ts').ended;
  expect(end).toMatchObject({ stdout: 'ok, paused by ada: card provider is down\ncharged A-1\n' });
});

test('a web process emits what a worker handles, with one definition', async () => {
  const redis = await startRedisServer();
  onTestFinished(() => redis.release());
  const env = { REDIS_URL: redis.url, PORT: String(await freePort()) };
  const worker = startExample('deploying/worker.ts', { env });
  await worker.printed('ready');
  const web = startExample('deploying/web.ts', { env });
  const url = await web.url;
  const post = async (body: string): Promise<number> => (await fetch(url, { method: 'POST', body })).status;

  const order = JSON.stringify({ id: 'A-1', items: ['teapot', 'cup'] });
  expect([await post(order), await post(order), await post('{"id":"A-2","items":[]}'), await post('{')]).toEqual([
    202, 202, 400, 400,
  ]);
  await worker.printed('of A-1');
  expect(await web.stop()).toMatchObject({ exitCode: 0, stderr: '' });
  const end = await worker.stop();
  expect(end).toEqual({ exitCode: 0, stdout: 'ready\npacking teapot, cup of A-1\n', stderr: '' });
});

test('a worker is ready when it consumes, and stays alive without Redis', async () => {
  const redis = await startRedisServer();
  const env = { REDIS_URL: redis.url, PORT: String(await freePort()) };
  const worker = startExample('deploying/probes.ts', { env });
  const ready = await worker.url;
  const probe = async (path: string): Promise<[number, string]> => {
    const response = await fetch(new URL(path, ready));
    return [response.status, await response.text()];
  };
  await vi.waitFor(async () => expect(await probe('/ready')).toEqual([200, 'ready\n']), 30_000);
  await redis.release();
  await vi.waitFor(async () => expect((await probe('/ready'))[0]).toBe(503), 30_000);
  expect((await probe('/live'))[0]).toBe(200);
  await worker.stop('SIGKILL');
});
