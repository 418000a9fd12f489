import { AlphaProvider, BetaProvider, GammaProvider } from 'hubline/agents';
import { expect, test } from 'vitest';
import { chooseModels } from './models.js';

const rule = (): string => 'rehearsed';

test.each([
  [{ OPENAI_API_KEY: 'k' }, AlphaProvider, 'OPENAI_API_KEY'],
  [{ ANTHROPIC_API_KEY: 'k' }, BetaProvider, 'ANTHROPIC_API_KEY'],
  [{ GEMINI_API_KEY: 'k' }, GammaProvider, 'GEMINI_API_KEY'],
  [{ OPENAI_API_KEY: '', GEMINI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k' }, BetaProvider, 'ANTHROPIC_API_KEY'],
])('%j chooses the vendor, and says so', (env, provider, key) => {
  const { description, modelFor } = chooseModels(env);
  expect(modelFor(rule).provider).toBeInstanceOf(provider);
  expect(description).toContain(`because ${key} is set`);
});

test('without a key, answers follow the rule', async () => {
  const { description, modelFor } = chooseModels({ OPENAI_API_KEY: '' });
  const { provider, model } = modelFor(rule);
  expect(await provider.chat([{ role: 'user', content: 'x' }], model)).toMatchObject({ content: 'rehearsed' });
  expect(description).toContain('offline');
});
