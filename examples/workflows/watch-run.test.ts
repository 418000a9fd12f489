import { randomUUID } from 'node:crypto';
import { createHub, createWorkflow, memoryTransport } from 'hubline';
import { expect, onTestFinished, test } from 'vitest';
import { followRun } from './watch-run.js';

test('a web process follows a run of a worker', async () => {
  const transport = memoryTransport();
  const order = createWorkflow({
    name: `order ${randomUUID()}`,
    run: async ({ step }) => {
      await step.run('pick', () => 1);
      await step.waitForEvent('paid', 'order.paid');
      await step.run('ship', () => 2);
    },
  });
  const [web, worker] = [createHub({ transport }), createHub({ transport })];
  for (const hub of [web, worker]) {
    hub.workflow(order);
    hub.event({ type: 'order.paid' });
    await hub.start();
    onTestFinished(async () => void (await hub.stop()));
  }
  const { runId } = await worker.startWorkflow(order, null);
  const lines: string[] = [];
  const status = await followRun(web, runId, (line) => {
    lines.push(line);
    if (line.includes('waits')) void worker.emit('order.paid', {});
  });
  expect(status).toBe('completed');
  expect(lines).toEqual(['pick: completed', 'paid: waits for order.paid', 'paid: completed', 'ship: completed']);
});
