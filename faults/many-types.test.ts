import { randomUUID } from 'node:crypto';
import { createHub, createWorkflow } from 'hubline';
import { redisTransport } from 'hubline/redis';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { startRedisServer } from '../scripts/redis-server.js';
import { patientMs, until } from './workers/scene.js';

const types = 1_000;

it(`${types} types: three connections and one per worker queue, and introspection in one round trip`, async () => {
  const server = await startRedisServer();
  onTestFinished(() => server.release());
  const prefix = randomUUID();
  const hub = createHub({ transport: redisTransport({ url: server.url, prefix, emitTimeoutMs: patientMs }) });
  onTestFinished(async () => {
    await hub.stop({ drainMs: 0 });
  });
  for (let n = 0; n < types; n += 1) hub.event({ type: `type ${n}`, handler: () => {} });
  hub.event({ type: 'with its own worker queue', concurrency: 1, handler: () => {} });
  hub.workflow(createWorkflow({ name: 'flow', steps: [{ name: 'step', handler: () => {} }] }));
  await hub.start();
  await Promise.all(Array.from({ length: types }, (_, n) => hub.emit(`type ${n}`, null)));

  const admin = new Redis(server.url);
  onTestFinished(() => admin.disconnect());
  const connections = (await clients(admin)).length - 1;
  expect(connections).toBeLessThanOrEqual(4 + 2);
  await until('all are handled', async () =>
    (await hub.introspect()).events.every(({ metrics }) => metrics.pending === 0),
  );

  const client = { connectionName: 'observer' };
  // It is not started, so it sends nothing but its queries.
  const transport = redisTransport({ url: server.url, prefix, client, emitTimeoutMs: patientMs });
  const observer = createHub({ transport, observer: true });
  onTestFinished(async () => {
    await observer.stop();
  });
  expect((await observer.introspect()).events).toHaveLength(types + 1);
  const address = /addr=(\S+)/.exec((await clients(admin)).find((line) => line.includes('name=observer')) ?? '')?.[1];
  const monitor = await admin.monitor();
  onTestFinished(() => monitor.disconnect());
  const commands: unknown[] = [];
  let isAllSeen = false;
  monitor.on('monitor', (_time: string, [command]: string[], source: string) => {
    if (source === address) commands.push(command);
    if (command === 'echo') isAllSeen = true;
  });
  const { events, workflows } = await observer.introspect();
  await admin.echo('end');
  await until('the monitor has reported all commands', () => isAllSeen);
  // The pauses, the stored schedules and all else, sent at once.
  expect(commands.toSorted()).toEqual(['FCALL', 'FCALL', 'get']);
  expect(events.filter(({ metrics }) => metrics.completed === 1)).toHaveLength(types);
  expect(workflows).toHaveLength(1);
});

async function clients(admin: Redis): Promise<string[]> {
  return String(await admin.call('CLIENT', 'LIST'))
    .trim()
    .split('\n');
}
