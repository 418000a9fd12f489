import { randomUUID } from 'node:crypto';
import { setImmediate as endOfTurn } from 'node:timers/promises';
import { afterEach, expect, it, vi } from 'vitest';
import { startRedisServer } from '../../../../scripts/redis-server.js';
import { createHub } from '../../../hub/create-hub.js';
import { createWorkflow } from '../../../hub/runs/workflow.js';
import { silentLogger } from '../../transport.js';
import { redisTransport } from '../redis-transport.js';

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
