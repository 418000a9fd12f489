import { randomUUID } from 'node:crypto';
import { createHub, createWorkflow } from 'hubline';
import { redisTransport } from 'hubline/redis';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { startRedisServer } from '../scripts/redis-server.js';
import { until } from './scene.js';

const types = 1_000;

it(`${types} types: three connections and one a lane, all counts in one short round trip`, async () => {
  const server = await startRedisServer();
  onTestFinished(() => server.release());
  const hub = createHub({ transport: redisTransport({ url: server.url, prefix: randomUUID() }) });
  onTestFinished(async () => {
    await hub.stop({ drainMs: 0 });
  });
  for (let n = 0; n < types; n += 1) hub.event({ type: `type ${n}`, handler: () => {} });
  hub.event({ type: 'in a lane of its own', concurrency: 1, handler: () => {} });
  hub.workflow(createWorkflow({ name: 'flow', steps: [{ name: 'step', handler: () => {} }] }));
  await hub.start();
  await Promise.all(Array.from({ length: types }, (_, n) => hub.emit(`type ${n}`, null)));

  const admin = new Redis(server.url);
  onTestFinished(() => admin.disconnect());
  const connections =
    String(await admin.call('CLIENT', 'LIST'))
      .trim()
      .split('\n').length - 1;
  expect(connections).toBeLessThanOrEqual(3 + 2);

  // Measured is the reading, not what is read of.
  await until('all are handled', async () => (await hub.metrics(`type ${types - 1}`)).completed === 1);
  const names = Array.from({ length: types }, (_, n) => `type ${n}`);
  const durations: number[] = [];
  for (let round = 0; round < 11; round += 1) {
    const startedAt = performance.now();
    const counts = await hub.transport.counts(names);
    durations.push(performance.now() - startedAt);
    expect(counts).toHaveLength(types);
  }
  const median = durations.sort((a, b) => a - b)[5];
  console.log(`counts of ${types} types: ${median?.toFixed(1)} ms, ${connections} connections`);
  expect(median).toBeLessThan(20);
  const { events } = await hub.introspect();
  expect(events).toHaveLength(types + 1);
});
