import { AnthropicProvider, GeminiProvider, OpenAIProvider } from 'hubline/agents';
import { expect, test } from 'vitest';
import { chooseModels } from './models.js';

const rule = (): string => 'rehearsed';

test.each([
  [{ OPENAI_API_KEY: 'k' }, OpenAIProvider, 'OPENAI_API_KEY'],
  [{ ANTHROPIC_API_KEY: 'k' }, AnthropicProvider, 'ANTHROPIC_API_KEY'],
  [{ GEMINI_API_KEY: 'k' }, GeminiProvider, 'GEMINI_API_KEY'],
  [{ OPENAI_API_KEY: '', GEMINI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k' }, AnthropicProvider, 'ANTHROPIC_API_KEY'],
])('%j selects the vendor, and names it', (env, provider, key) => {
  const { description, modelFor } = chooseModels(env);
  expect(modelFor(rule).provider).toBeInstanceOf(provider);
  expect(description).toContain(`because ${key} is set`);
});

test('without an API key, answers follow the rule', async () => {
  const { description, modelFor } = chooseModels({ OPENAI_API_KEY: '' });
  const { provider, model } = modelFor(rule);
  expect(await provider.chat([{ role: 'user', content: 'x' }], model)).toMatchObject({ content: 'rehearsed' });
  expect(description).toContain('offline');
});
