import { expect, it } from 'vitest';
import { createHub } from './create-hub.js';
import { HubNotStartedError, HubStoppedError } from './errors.js';
import { deferred, testHub } from './hub.fixture.js';
import { createWorkflow } from './runs/workflow.js';

const backlog = 100;

it('handlers of a backlog may emit and start workflows before start() resolves', async () => {
  const { hub: before, transport, clock } = testHub();
  before.event({ type: 'a', handler: () => {} });
  await before.start();
  await before.stop({ drainMs: 0 });
  const web = transport.connect({ service: 'hub', logger: before.logger });
  const hub = createHub({ transport });
  let hasStarted = false;
  let early = 0;
  hub.event({
    type: 'a',
    handler: async ({ payload }) => {
      if (!hasStarted) early += 1;
      await hub.emit('b', payload);
      await hub.emitMany('b', [payload]);
      await hub.startWorkflow('w', payload);
    },
  });
  hub.event({ type: 'b', handler: () => {} });
  hub.workflow(createWorkflow({ name: 'w', steps: [{ name: 'only', handler: () => null }] }));
  const settings = { depth: 0, delayMs: 0, priority: 0, replays: 0, dedupe: undefined };
  const events = Array.from({ length: backlog }, (_, i) => ({ id: `e-${i}`, type: 'a', body: '1', requestId: 'r' }));
  await web.publish(events.map((event) => ({ ...event, ...settings })));
  await expect(hub.emit('b', 1)).rejects.toThrow(HubNotStartedError);
  const starting = hub.start();
  await expect(hub.emit('b', 1)).rejects.toThrow(HubNotStartedError);
  await starting;
  hasStarted = true;
  await clock.advance(1_000);
  expect(early).toBeGreaterThan(0);
  expect(await hub.metrics('a')).toMatchObject({ received: backlog, completed: backlog, failed: 0 });
  expect(await hub.metrics('b')).toMatchObject({ received: 2 * backlog, completed: 2 * backlog });
  const { workflows } = await hub.introspect();
  expect(workflows).toMatchObject([{ name: 'w', metrics: { received: backlog, completed: backlog } }]);
  await hub.stop({ drainMs: 0 });
});

it('handlers may emit and start workflows in a drain, until the last of them has ended', async () => {
  const { hub, clock } = testHub();
  const draining = deferred();
  hub.event({
    type: 'a',
    handler: async ({ payload }) => {
      await draining.promise;
      await hub.emit('b', payload);
      await hub.startWorkflow('w', payload);
    },
  });
  hub.event({ type: 'b', handler: () => {} });
  hub.workflow(createWorkflow({ name: 'w', steps: [{ name: 'only', handler: () => null }] }));
  await hub.start();
  await hub.emit('a', 1);
  await clock.settle();
  const stopped = hub.stop();
  draining.resolve();
  await clock.advance(1_000);
  expect(await stopped).toEqual({ released: 0, overdue: 0 });
  expect(await hub.metrics('a')).toMatchObject({ completed: 1, failed: 0 });
  expect(await hub.metrics('b')).toMatchObject({ received: 1, completed: 1 });
  await expect(hub.emit('b', 1)).rejects.toThrow(HubStoppedError);
  await expect(hub.startWorkflow('w', 1)).rejects.toThrow(HubStoppedError);
});
