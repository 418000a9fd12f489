import { expect, test } from 'vitest';
import { testHub } from '../../hub/hub.fixture.js';
import { scriptedProvider } from '../../testing/scripted-provider.js';
import { createAgent } from '../create-agent.js';
import { createTool } from '../tools/tool.js';

test('an agent continues with the turns before the one that is forked', async () => {
  const { hub, clock } = testHub({ service: 'shop' });
  const calls: string[] = [];
  const look = createTool<{ at: string }, string>({
    name: 'look',
    description: 'Looks at something.',
    parameters: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
    execute: async ({ at }) => {
      calls.push(at);
      return `seen ${at}`;
    },
  });
  const provider = scriptedProvider([
    { toolCalls: [{ name: 'look', arguments: { at: 'one' } }] },
    { toolCalls: [{ name: 'look', arguments: { at: 'two' } }] },
    { content: 'first answer' },
    { content: 'second answer' },
  ]);
  const agent = createAgent({ name: 'scout', systemPrompt: 'Look.', provider, model: { model: 'm' }, tools: [look] });
  hub.event({ type: 'asked', handler: agent.asHandler() });
  await hub.start();
  const { id } = await hub.emit('asked', 'what is there?');
  for (let n = 0; n < 20; n += 1) await clock.advance(10);
  expect(calls).toEqual(['one', 'two']);
  const { steps } = await hub.getRun('asked', id);
  expect(steps.map(({ name }) => name)).toContain('turn 2');
  const fork = await hub.fork(id, { fromStep: 'turn 2' });
  for (let n = 0; n < 20; n += 1) await clock.advance(10);
  // The model was asked once more, with what the first turn recorded.
  expect(calls).toEqual(['one', 'two']);
  expect(provider.calls.at(-1)?.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool']);
  expect(await hub.getRun('asked', fork.id)).toMatchObject({ status: 'completed' });
});
