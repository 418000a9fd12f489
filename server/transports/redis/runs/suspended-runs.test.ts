import { randomUUID } from 'node:crypto';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createHub } from '../../../hub/create-hub.js';
import type { RunCtx } from '../../../hub/runs/step.js';
import { createWorkflow } from '../../../hub/runs/workflow.js';
import { redisTransport } from '../redis-transport.js';
import { startTestRedis } from '../test-redis.fixture.js';

const runs = 1_000;
// A sorted set that holds an id takes 130 bytes per member; each run has three of them, and a record.
const maxBytesPerRun = 1_000;
const maxSmallKeys = 50;

const { server, admin } = await startTestRedis();

async function usage(prefix: string): Promise<{ readonly keys: number; readonly bytes: number }> {
  const keys = await admin.keys(`{${prefix}}:*`);
  const bytes = await Promise.all(keys.map((key) => admin.memory('USAGE', key, 'SAMPLES', 0)));
  // The index of ids has a fixed number of slots.
  const own = keys.filter((key) => !key.startsWith(`{${prefix}}:places:`));
  return { keys: own.length, bytes: bytes.reduce<number>((sum, each) => sum + Number(each), 0) };
}

it(`take less than ${maxBytesPerRun} bytes and no key each while they wait`, async () => {
  const prefix = randomUUID();
  const transport = redisTransport({ url: server.url, prefix, emitTimeoutMs: 30_000 });
  const hub = createHub({ service: 'shop', transport, concurrency: 64 });
  onTestFinished(async () => {
    await hub.stop({ drainMs: 0 });
  });
  const confirmed = hub.event<{ id: string }>({ type: 'confirmed', key: ({ id }) => id });
  const workflow = hub.workflow(
    createWorkflow({
      name: 'confirm',
      retain: { completed: 0 },
      run: async ({ input, step }: RunCtx<{ id: string }>) => {
        await step.run('ask', () => null);
        await step.waitForEvent('confirmed', confirmed, { key: input.id, timeoutMs: 86_400_000 });
      },
    }),
  );
  await hub.start();
  const payloads = Array.from({ length: runs }, (_, n) => ({ id: `order ${n}` }));
  await Promise.all(payloads.map((payload) => hub.startWorkflow(workflow, payload)));
  const counts = async () => (await hub.introspect()).workflows[0]?.metrics;
  await vi.waitFor(async () => expect(await counts()).toMatchObject({ suspended: runs }), 50_000);
  const { keys, bytes } = await usage(prefix);
  expect(bytes / runs).toBeLessThan(maxBytesPerRun);
  expect(keys).toBeLessThan(maxSmallKeys);

  await hub.emitMany(confirmed, payloads);
  await vi.waitFor(async () => expect(await counts()).toMatchObject({ completed: runs, pending: 0 }), 50_000);
  for (const kind of ['suspended', 'waiting', 'timers', 'runs']) {
    expect(await admin.keys(`{${prefix}}:${kind}:*`)).toEqual([]);
  }
  const records = await admin.keys(`{${prefix}}:run:*`);
  for (const key of records) expect(await admin.pttl(key)).not.toBe(-1);
});
