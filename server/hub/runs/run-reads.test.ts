import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { startRedisServer } from '../../../scripts/redis-server.js';
import { redisTransport } from '../../transports/redis/redis-transport.js';
import { createHub } from '../create-hub.js';
import { createWorkflow } from './workflow.js';

it('reading a run transfers payload, outputs and result only if outputs are asked for', async () => {
  const server = await startRedisServer();
  const admin = new Redis(server.url);
  const hub = createHub({
    transport: redisTransport({ url: server.url, prefix: randomUUID(), emitTimeoutMs: 60_000 }),
  });
  onTestFinished(async () => {
    await hub.stop({ drainMs: 0 });
    admin.disconnect();
    await server.release();
  });
  const large = 'x'.repeat(200_000);
  const workflow = hub.workflow(
    createWorkflow({
      name: 'report',
      run: async ({ step }) => {
        for (const name of ['one', 'two', 'three']) await step.run(name, () => large);
        return large;
      },
    }),
  );
  await hub.start();
  const handle = await hub.startWorkflow(workflow, large);
  await handle.result();
  const bytesOf = async (read: () => Promise<unknown>): Promise<number> => {
    await admin.config('RESETSTAT');
    await read();
    return Number(/total_net_output_bytes:(\d+)/.exec(await admin.info('stats'))?.[1]);
  };
  const steps = ['one', 'two', 'three'].map((name) => ({ name, status: 'completed' }));
  const reads = [
    () => hub.getRun(workflow, handle.runId),
    () => handle.status(),
    () => hub.find(handle.runId),
    () => hub.getRecent('report'),
    () => hub.waits(),
    () => hub.introspect(),
  ];
  for (const read of reads) expect(await bytesOf(read)).toBeLessThan(20_000);
  expect(await hub.getRun(workflow, handle.runId)).toMatchObject({ status: 'completed', steps });
  const outputs = () => hub.getRun(workflow, handle.runId, { outputs: true });
  expect(await outputs()).toMatchObject({ steps: steps.map((step) => ({ ...step, output: large })) });
  expect(await bytesOf(outputs)).toBeGreaterThan(3 * large.length);
});
