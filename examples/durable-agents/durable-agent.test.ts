import { memoryTransport } from 'hubline';
import { createFakeClock, scriptedProvider } from 'hubline/testing';
import { expect, test, vi } from 'vitest';
import { createTravelHub } from './durable-agent.js';

const calls = (flight: string) => ({ toolCalls: [{ name: 'book', arguments: { flight } }] });

test('a second process resumes at the call that the first one did not finish', async () => {
  const transport = memoryTransport();
  const keys: string[] = [];
  const stuck = createTravelHub(
    scriptedProvider([calls('SK 1'), calls('SK 2')]),
    (flight, key) => {
      keys.push(key);
      return flight === 'SK 1' ? Promise.resolve('booked') : new Promise(() => {});
    },
    transport,
  );
  await stuck.start();
  const { id } = await stuck.emit('journey.requested', 'Oslo to Bergen and back');
  await vi.waitFor(() => expect(keys).toHaveLength(2));
  await stuck.stop({ drainMs: 0 });

  const provider = scriptedProvider(['Both are booked.']);
  const next = createTravelHub(
    provider,
    async (_flight, key) => {
      keys.push(key);
      return 'booked';
    },
    transport,
  );
  await next.start();
  await vi.waitFor(async () => expect(await next.metrics('journey.requested')).toMatchObject({ completed: 1 }));
  provider.assertDone();
  expect(keys[2]).toBe(keys[1]);
  const { steps } = await next.getRun('journey.requested', id);
  expect(steps.map(({ name }) => name)).toEqual(['turn 1', 'turn 1 / book', 'turn 2', 'turn 2 / book', 'turn 3']);
  await next.stop();
});

test('an agent in a workflow answers once, however long the run waits', async () => {
  const clock = createFakeClock();
  const provider = scriptedProvider(['Fly on Monday.']);
  const hub = createTravelHub(provider, async () => 'booked', memoryTransport({ clock }));
  await hub.start();
  await hub.emit('journey.wanted', { to: 'Bergen' });
  await clock.advance(2 * 86_400_000);
  const [workflow] = (await hub.introspect()).workflows;
  expect(workflow?.metrics).toMatchObject({ completed: 1 });
  provider.assertDone();
  await hub.stop();
});
