import { scriptedProvider } from 'hubline/testing';
import { expect, test } from 'vitest';
import { answerTo } from './agent-stream.js';
import { createForecaster } from './agent-tools.js';

test('the answer is written as it arrives', async () => {
  const provider = scriptedProvider([
    { content: 'Let me see.', toolCalls: [{ name: 'weather', arguments: { city: 'Bergen' } }] },
    { content: ['It ', 'rains.'] },
  ]);
  const written: string[] = [];
  const tokens = await answerTo({ write: (text) => written.push(text) }, createForecaster(provider), 'Umbrella?');
  expect(written).toEqual(['Let me see.', '\n> weather {"city":"Bergen"}\n', 'It ', 'rains.', '\n']);
  expect(tokens).toBe(30);
});
