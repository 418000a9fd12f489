import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished, vi } from 'vitest';
import { startRedisServer } from '../../../scripts/redis-server.js';
import { redisTransport } from '../../transports/redis/redis-transport.js';
import { createHub } from '../create-hub.js';
import { createWorkflow } from './workflow.js';

it('repeating the record of a step spends none of its attempts, and does not run it again', async () => {
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
  const refusals: readonly (() => Promise<unknown>)[] = [
    () => admin.config('SET', 'maxmemory', '1'),
    () => admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'),
    () => admin.function('FLUSH'),
  ];
  const ran: number[] = [];
  const flow = createWorkflow({
    name: 'flow',
    run: async ({ step }) => {
      for (const [index, refuse] of refusals.entries()) {
        const record = async (): Promise<number> => {
          ran.push(index);
          await refuse();
          return index;
        };
        await step.run(`step ${index}`, record, { retry: { maxAttempts: 2, initialDelayMs: 0 } });
      }
      return 'done';
    },
  });
  hub.workflow(flow);
  await hub.start();
  const run = await hub.startWorkflow(flow, null);
  await vi.waitFor(async () => expect(await admin.info('errorstats')).toContain('errorstat_OOM'));
  await admin.config('SET', 'maxmemory', '0');
  expect(await run.result()).toBe('done');
  expect(ran).toEqual([0, 1, 2]);
  expect((await run.status()).steps.map(({ attempt }) => attempt)).toEqual([1, 1, 1]);
});
