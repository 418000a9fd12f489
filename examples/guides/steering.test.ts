import { createTool } from 'hubline/agents';
import { scriptedProvider } from 'hubline/testing';
import { expect, test } from 'vitest';
import { addToJourney, createTravelDesk } from './steering.js';

test('a text reaches the run that works, or else a new one', async () => {
  const provider = scriptedProvider([
    { toolCalls: [{ name: 'search' }] },
    'The flight at 9:40.',
    'There is one on Tuesday.',
  ]);
  const search = createTool({
    name: 'search',
    description: 'Searches flights',
    parameters: { type: 'object' },
    async execute(_input, { eventId }) {
      for (let sent = 0; sent < 2; sent += 1) await addToJourney(hub, eventId, 'Before noon, please.', 'm-1');
      return ['9:40', '14:10'];
    },
  });
  const hub = createTravelDesk(provider, [search], { logger: false });
  await hub.start();
  const completed = async () => (await hub.metrics('journey.requested')).completed;
  const { id } = await hub.emit('journey.requested', 'To Oslo on Monday');
  await expect.poll(completed).toBe(1);
  const said = provider.calls.map(({ messages }) =>
    messages.flatMap(({ role, content }) => (role === 'user' ? content : [])),
  );
  expect(said[1]).toEqual(['To Oslo on Monday', 'Before noon, please.']);
  const next = await addToJourney(hub, id, 'And on Tuesday?', 'm-2');
  expect(next).not.toBe(id);
  await expect.poll(completed).toBe(2);
  await hub.stop();
});
