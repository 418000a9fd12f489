import { expect, it } from 'vitest';
import { bytesLeft } from './bytes-left.fixture.js';
import { createHub } from './create-hub.js';
import { createWorkflow } from './runs/workflow.js';

it('an event that has ended leaves its record alone', async () => {
  const hub = createHub();
  const event = hub.event<{ id: number; items: string[] }>({ type: 'order.created', handler: () => {} });
  await hub.start();
  // About 300; with its attempt, 2,300.
  expect(await bytesLeft((id) => hub.emit(event, { id, items: ['tea'] }))).toBeLessThan(1_000);
  await hub.stop();
});

it('a run that has ended leaves its record alone', async () => {
  const hub = createHub();
  const workflow = hub.workflow(
    createWorkflow({
      name: 'fulfil',
      retain: { completed: 0, failed: 0 },
      run: async ({ step }) => (await step.run('reserve', () => 1)) + (await step.run('charge', () => 1)),
    }),
  );
  await hub.start();
  // About 2,000; with the context of its function, 7,000.
  expect(await bytesLeft(async () => (await hub.startWorkflow(workflow, {})).result())).toBeLessThan(4_500);
  await hub.stop();
});
