import { setTimeout as delay } from 'node:timers/promises';
import { createHub } from 'hubline';
import { postgresTransport } from 'hubline/postgres';
import { Pool } from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { startOwnPostgresServer } from '../../scripts/postgres-server.js';
import { startFleet } from '../workers/fleet.js';
import { until } from '../workers/scene.js';
import { emitAll, expectExact } from './exact-work.js';
import { emitPatiently, setPostgresStage, setReplicatedStage } from './postgres-stage.js';

it('no event is lost or ends twice with workers whose clocks are wrong by hours', async () => {
  const { scene } = await setPostgresStage();
  for (const clockSkewMs of [-2, 3].map((hours) => hours * 3_600_000)) {
    const fleet = await startFleet(1, { ...scene.workers('work'), clockSkewMs });
    onTestFinished(() => fleet.stop());
  }
  await expectExact(scene, await emitAll(scene.hub));
});

it('no event is lost or ends twice beside a failover to a synchronous replica', async () => {
  const { scene, failOver } = await setReplicatedStage(true);
  const fleet = await startFleet(2, scene.workers('work'));
  onTestFinished(() => fleet.stop());
  const emitting = emitAll(scene.hub, (n) => emitPatiently(scene.hub, n));
  await delay(400);
  await failOver();
  await expectExact(scene, await emitting);
});

it('a pool of which the application holds every free client delays events, and loses none', async () => {
  const server = await startOwnPostgresServer();
  const pool = new Pool({ connectionString: server.url, max: 4 });
  pool.on('error', () => {});
  const hub = createHub({ service: 'shop', transport: postgresTransport({ pool, lockDurationMs: 1_000 }) });
  onTestFinished(async () => {
    await hub.stop();
    await pool.end();
    await server.release();
  });
  const handled: number[] = [];
  hub.event<number>({ type: 'work', handler: ({ payload }) => void handled.push(payload) });
  await hub.start();
  for (let round = 0; round < 3; round += 1) {
    const free = pool.options.max - (pool.totalCount - pool.idleCount);
    const held = await Promise.all(Array.from({ length: free }, () => pool.connect()));
    const emitting = Promise.all(Array.from({ length: 50 }, (_, n) => hub.emit('work', round * 50 + n)));
    // Longer than a lease, which a session of its own renews.
    await delay(1_500);
    for (const client of held) client.release();
    await emitting;
  }
  await until('all events are handled', async () => (await hub.metrics('work')).pending === 0);
  expect(handled.sort((a, b) => a - b)).toEqual(Array.from({ length: 150 }, (_, n) => n));
  expect(await hub.metrics('work')).toMatchObject({ received: 150, completed: 150, active: 0 });
});
