import { randomUUID } from 'node:crypto';
import { setImmediate as endOfTurn } from 'node:timers/promises';
import { afterEach, expect, it, vi } from 'vitest';
import { startRedisServer } from '../../../../scripts/redis-server.js';
import { createHub } from '../../../hub/create-hub.js';
import { createWorkflow } from '../../../hub/runs/workflow.js';
import { silentLogger } from '../../transport.js';
import { JobConsumer } from '../consuming/job-consumer.js';
import { LeaseRecorder } from '../consuming/lease-recorder.js';
import { WorkerQueue } from '../consuming/worker-queue.js';
import { sharedQueue } from '../names.js';
import { resolveRedisOptions } from '../redis-options.js';
import { redisTransport } from '../redis-transport.js';
import { CommandClient } from './command-client.js';
import { connectConsumer } from './connect-redis.js';

afterEach(() => vi.restoreAllMocks());

/** Returns the connections and timers of this process, as soon as those that are closing have closed. */
async function openResources(): Promise<readonly string[]> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    const open = process.getActiveResourcesInfo().filter((name) => /^(TCP|GetAddrInfo|Timeout)/.test(name));
    if (open.length === 0 || performance.now() > deadline) return open;
    // A timer of the test itself would count.
    await endOfTurn();
  }
}

it('leaves no connection, timer or output behind if the hub stops while Redis is gone for good', async () => {
  const server = await startRedisServer();
  const output: unknown[] = [];
  for (const method of ['log', 'info', 'warn', 'error'] as const) {
    vi.spyOn(console, method).mockImplementation((...line) => output.push(line));
  }
  expect(await openResources()).toEqual([]);
  const lines = vi.fn();
  const logger = { ...silentLogger, warn: lines, error: lines };
  const transport = redisTransport({ url: server.url, prefix: randomUUID(), emitTimeoutMs: 2_000 });
  const hub = createHub({ transport, logger });
  let onHandled = (): void => {};
  const handled = new Promise<void>((resolve) => {
    onHandled = resolve;
  });
  hub.event({ type: 'shared', handler: () => onHandled() });
  hub.event({ type: 'limited', concurrency: 1, handler: () => {} });
  hub.workflow(createWorkflow({ name: 'flow', steps: [{ name: 'step', handler: () => {} }] }));
  await hub.start();
  await hub.emit('shared', null);
  await handled;
  await server.stop('SIGKILL');
  await vi.waitFor(() => expect(lines).toHaveBeenCalled());
  await hub.stop({ drainMs: 0 });
  const count = lines.mock.calls.length;
  expect(await openResources()).toEqual([]);
  expect(lines).toHaveBeenCalledTimes(count);
  expect(output).toEqual([]);
  await server.release();
});

it('closes within the time limit, and leaves nothing behind, if Redis is lost while a worker queue starts', async () => {
  const server = await startRedisServer();
  const output = vi.spyOn(console, 'error').mockImplementation(() => {});
  const settings = resolveRedisOptions({ url: server.url, prefix: randomUUID(), emitTimeoutMs: 500 });
  const commands = new CommandClient(settings, silentLogger);
  const connection = await connectConsumer(settings, silentLogger);
  await connection.ping();
  await server.stop('SIGKILL');
  const start = vi.spyOn(WorkerQueue.prototype, 'start');
  const recorder = new LeaseRecorder(commands, 'shop', settings);
  const parts = {
    service: 'shop',
    processId: randomUUID(),
    settings,
    logger: silentLogger,
    commands,
    connection,
    recorder,
  };
  const options = { subscriptions: [{ type: 'a' }], concurrency: 1, onDelivery: () => {} };
  const consumer = new JobConsumer(parts, options);
  const serving = consumer.serve([{ name: sharedQueue('shop'), slots: 'shared' }]);
  serving.catch(() => {});
  await vi.waitFor(() => expect(start).toHaveBeenCalled(), 10_000);
  expect(await consumer.close(0)).toEqual({ released: 0, overdue: 0 });
  await commands.close();
  expect(await openResources()).toEqual([]);
  expect(output).not.toHaveBeenCalled();
  await server.release();
});

it('closes, and leaves nothing behind, while it begins to wait for a run and Redis is gone', async () => {
  const server = await startRedisServer();
  const transport = redisTransport({ url: server.url, prefix: randomUUID(), emitTimeoutMs: 500 });
  const manager = transport.connect({ service: 'shop', logger: silentLogger });
  await manager.start({ subscriptions: [{ type: 'a' }], concurrency: 1, onDelivery: () => {} });
  await server.stop('SIGKILL');
  const gaveUp = new AbortController();
  const ended = expect(manager.runs.ended('run', 'id', gaveUp.signal)).rejects.toThrow();
  await endOfTurn();
  await manager.close({ drainMs: 0 });
  gaveUp.abort(new Error('gave up'));
  await ended;
  expect(await openResources()).toEqual([]);
  await server.release();
});
