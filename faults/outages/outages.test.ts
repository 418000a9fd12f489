import { setTimeout as delay } from 'node:timers/promises';
import { BackpressureError, createDashboardHandler, TransportUnavailableError } from 'hubline';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { startFleet } from '../workers/fleet.js';
import { setScene, until } from '../workers/scene.js';
import { emitAll, events, expectExact } from './exact-work.js';
import { get } from './get.js';
import { startProxy } from './proxy.js';

const emitTimeoutMs = 2_000;
/** Time after which an operation counts as stuck. */
const patienceMs = 60_000;

it('Redis restarts during load: no event lost or duplicated, and workers reconnect automatically', async () => {
  const scene = await setScene(['work', 'settled'], { settings: ['--appendonly', 'yes', '--appendfsync', 'always'] });
  const fleet = await startFleet(2, scene.workers('work'));
  onTestFinished(() => fleet.stop());
  const emitting = emitAll(scene.hub);
  for (let restart = 0; restart < 2; restart += 1) {
    await delay(300);
    await scene.server.stop(restart === 0 ? 'SIGTERM' : 'SIGKILL');
    await delay(200);
    await scene.server.start();
  }
  await expectExact(scene, await emitting);
});

it.each<[string, (admin: Redis) => Promise<unknown>]>([
  ['connections killed', (admin) => admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')],
  ['scripts and functions flushed', (admin) => Promise.all([admin.script('FLUSH'), admin.function('FLUSH')])],
])('%s during load: no event lost or duplicated, and no emit fails', async (_, disturb) => {
  const scene = await setScene(['work', 'settled']);
  const fleet = await startFleet(2, scene.workers('work'));
  onTestFinished(() => fleet.stop());
  const admin = new Redis(scene.server.url);
  onTestFinished(() => admin.disconnect());
  const emitting = emitAll(scene.hub);
  for (let time = 0; time < 8; time += 1) {
    await delay(100);
    await disturb(admin);
  }
  const unknown = await emitting;
  expect(unknown.size).toBe(0);
  await expectExact(scene, unknown);
});

it('memory full: emit rejects, consumers drain, and emit works again when there is memory', async () => {
  const scene = await setScene(['work', 'settled']);
  const { hub, server, workers } = scene;
  const admin = new Redis(server.url);
  onTestFinished(() => admin.disconnect());
  const first = await startFleet(1, workers('work'));
  await first.stop();
  const pending = events / 2;
  await Promise.all(Array.from({ length: pending }, (_, i) => hub.emit('work', { n: i + 1 })));
  const fleet = await startFleet(1, workers('work'));
  onTestFinished(() => fleet.stop());
  await admin.config('SET', 'maxmemory', '1');
  await expect(hub.emit('work', { n: 0 })).rejects.toThrow(BackpressureError);
  await until('consumers drain', async () => (await hub.metrics('settled')).completed === pending);
  expect(await hub.metrics('work')).toMatchObject({ received: pending, pending: 0 });
  await admin.config('SET', 'maxmemory', '0');
  await Promise.all(Array.from({ length: events - pending }, (_, i) => hub.emit('work', { n: pending + i + 1 })));
  await expectExact(scene, new Set());
});

it('silent connection: emit rejects in time, the dashboard answers 503, and both recover', async () => {
  const proxies: Awaited<ReturnType<typeof startProxy>>[] = [];
  const scene = await setScene(['work', 'settled'], {
    emitTimeoutMs,
    async url({ port }) {
      const proxy = await startProxy(port);
      proxies.push(proxy);
      onTestFinished(() => proxy.close());
      return `redis://127.0.0.1:${proxy.port}`;
    },
  });
  const { hub } = scene;
  const handler = createDashboardHandler(hub);
  const fleet = await startFleet(1, scene.workers('work'));
  onTestFinished(() => fleet.stop());
  await hub.emit('work', { n: 1 });
  expect((await get(handler, '/api/introspection')).status).toBe(200);

  for (const proxy of proxies) proxy.goSilent();
  const startedAt = performance.now();
  await expect(hub.emit('work', { n: 2 })).rejects.toThrow(TransportUnavailableError);
  expect(performance.now() - startedAt).toBeLessThan(patienceMs);
  const { status, body } = await get(handler, '/api/introspection');
  expect(status).toBe(503);
  expect(JSON.parse(body)).toMatchObject({ error: { code: 'ERR_UNAVAILABLE' } });

  for (const proxy of proxies) proxy.recover();
  await until('emit works again', () =>
    hub.emit('work', { n: 3 }).then(
      () => true,
      () => false,
    ),
  );
  await until('the worker is back', () =>
    scene.ledger().some(({ what, key }) => what === 'settled completed' && key === '3'),
  );
});

it('Redis down: emit and reads reject in time, and work again after its restart', async () => {
  const { hub, server } = await setScene(['signal'], { settings: ['--appendonly', 'yes'], emitTimeoutMs });
  await hub.emit('signal', 1);
  await server.stop('SIGKILL');
  for (const attempt of [() => hub.emit('signal', 2), () => hub.metrics('signal'), () => hub.introspect()]) {
    const startedAt = performance.now();
    await expect(attempt()).rejects.toThrow(TransportUnavailableError);
    expect(performance.now() - startedAt).toBeLessThan(patienceMs);
  }
  await server.start();
  // The pauses between the attempts to connect grow with the time that Redis was down.
  await until('the hub is connected', () =>
    hub.metrics('signal').then(
      () => true,
      () => false,
    ),
  );
  await hub.emit('signal', 3);
  expect(await hub.metrics('signal')).toMatchObject({ received: 2, completed: 2 });
});
