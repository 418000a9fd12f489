import { scriptedProvider } from 'hubline/testing';
import { expect, test } from 'vitest';
import { createEditor } from './agent-delegation.js';

test('the editor delegates twice, and its usage includes its delegates', async () => {
  const delegateTo = (agentName: string, input: string) => ({
    toolCalls: [{ name: 'delegate', arguments: { agentName, input } }],
  });
  const providers = {
    editor: scriptedProvider([
      delegateTo('researcher', 'Tea?'),
      delegateTo('critic', 'Tea is a plant.'),
      'Tea is a shrub.',
    ]),
    researcher: scriptedProvider(['- Tea is a shrub']),
    critic: scriptedProvider(['A shrub, to be precise.']),
  };
  const result = await createEditor(providers).run('Write about tea');
  expect(result).toMatchObject({
    output: 'Tea is a shrub.',
    toolCalls: [{ result: '- Tea is a shrub' }, { result: 'A shrub, to be precise.' }],
    tokenUsage: { totalTokens: 75 },
  });
  for (const provider of Object.values(providers)) provider.assertDone();
});
