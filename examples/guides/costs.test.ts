import { fallbackProvider, ProviderError } from 'hubline/agents';
import { scriptedProvider } from 'hubline/testing';
import { expect, test } from 'vitest';
import { createProvider, createWriter, write } from './costs.js';

const usage = { promptTokens: 2_000, completionTokens: 400, totalTokens: 2_400, cachedTokens: 1_000 };

test('a run has a cost', async () => {
  const writer = createWriter(scriptedProvider([{ content: 'A fine lamp.', usage }]));
  expect(await write(writer, 'the lamp')).toBe('A fine lamp. (completed, $0.0031)');
});

test('a run moves to the second vendor, at its price', async () => {
  const overloaded = new ProviderError('overloaded', { provider: 'p', statusCode: 529, retryable: true });
  const second = scriptedProvider([{ content: 'A fine lamp.', usage }]);
  const provider = fallbackProvider([
    { provider: scriptedProvider([overloaded, overloaded]) },
    { provider: second, model: { model: 'gpt-4o-mini' } },
  ]);
  expect(await write(createWriter(provider), 'the lamp')).toBe('A fine lamp. (completed, $0.0005)');
  // The budget pays for this many tokens.
  expect(second.calls[0]?.options.maxTokens).toBe(83_333);
});

test('the providers are created', () => {
  expect(createProvider('key-of-anthropic', 'key-of-openai')).toMatchObject({ name: 'anthropic', jsonMode: true });
});
