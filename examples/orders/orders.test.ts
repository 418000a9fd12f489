import { expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { freePort } from '../../scripts/listen-locally.js';
import { type RedisServer, startRedisServer } from '../../scripts/redis-server.js';
import { type Example, startExample } from '../testing/start-example.js';
import { orderPaid } from './definitions.js';

const accepted = z.object({ runId: z.string() });

async function startStore(): Promise<RedisServer> {
  const redis = await startRedisServer();
  onTestFinished(() => redis.release());
  return redis;
}

async function startWorker(url: string): Promise<Example> {
  const worker = startExample('orders/worker.ts', { env: { REDIS_URL: url } });
  await worker.printed('ready');
  return worker;
}

test('a web process in Express starts, pays, awaits and cancels orders that a worker fulfils', async () => {
  const redis = await startStore();
  const web = startExample('orders/web.ts', { env: { REDIS_URL: redis.url, PORT: String(await freePort()) } });
  const url = (await web.url).replace(/\/$/, '');
  const send = (method: string, path: string, body?: object): Promise<Response> =>
    fetch(`${url}${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });

  // Accepted before the worker has ever started.
  const order = { id: 'A-1', items: ['teapot'] };
  const first = await send('POST', '/orders', order);
  const { runId } = accepted.parse(await first.json());
  expect([first.status, await (await send('POST', '/orders', order)).json()]).toEqual([202, { runId }]);
  expect((await send('POST', '/orders', { id: 'A-2', items: [] })).status).toBe(400);
  expect((await send('GET', '/orders/unknown')).status).toBe(404);
  expect(await (await send('GET', `/orders/${runId}`)).json()).toEqual({ status: 'waiting', steps: [] });

  const worker = await startWorker(redis.url);
  const result = send('GET', `/orders/${runId}/result`);
  const untilSuspended = (id: string): Promise<void> =>
    vi.waitFor(async () =>
      expect(await (await send('GET', `/orders/${id}`)).json()).toMatchObject({ status: 'suspended' }),
    );
  await untilSuspended(runId);
  expect((await send('POST', '/payments', { orderId: 'A-1' })).status).toBe(202);
  expect(await (await result).json()).toEqual({ tracking: 'T-A-1' });

  const { runId: second } = accepted.parse(await (await send('POST', '/orders', { id: 'A-3', items: ['cup'] })).json());
  await untilSuspended(second);
  expect(await (await send('DELETE', `/orders/${second}`)).json()).toEqual({ cancelled: true });
  const cancelled = await send('GET', `/orders/${second}/result`);
  expect([cancelled.status, await cancelled.json()]).toEqual([409, { error: 'WorkflowCancelledError' }]);
  expect(await web.stop()).toMatchObject({ exitCode: 0, stderr: '' });
  expect(await worker.stop()).toMatchObject({ exitCode: 0, stderr: '' });
});

test('a route of Next awaits an order that a worker fulfils', async () => {
  const redis = await startStore();
  const worker = await startWorker(redis.url);
  vi.stubEnv('REDIS_URL', redis.url);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  const [{ POST }, { getHub }] = await Promise.all([import('./next-route.js'), import('./next-hub.js')]);
  const hub = await getHub();
  onTestFinished(async () => {
    await hub.stop({ drainMs: 0 });
  });
  const post = (order: object): Promise<Response> =>
    POST(new Request('http://localhost/orders', { method: 'POST', body: JSON.stringify(order) }));
  expect((await post({ id: 'A-1' })).status).toBe(400);
  const response = post({ id: 'A-1', items: ['teapot'] });
  await worker.printed('reserving teapot');
  await vi.waitFor(async () => expect((await hub.waits()).waits).toHaveLength(1));
  await hub.emit(orderPaid, { orderId: 'A-1' });
  expect(await (await response).json()).toEqual({ tracking: 'T-A-1' });
  expect(await worker.stop()).toMatchObject({ exitCode: 0, stderr: '' });
});
