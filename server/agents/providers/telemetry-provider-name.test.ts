import { expect, it } from 'vitest';
import { telemetryProviderName } from './language-model.js';
import { AnthropicProvider, GeminiProvider, OpenAIProvider } from './vendor-providers.js';

it.each([
  ['openai.chat', 'openai'],
  ['anthropic.messages', 'anthropic'],
  ['google.generative-ai', 'gcp.gemini'],
  ['google.vertex.chat', 'gcp.vertex_ai'],
  ['amazon-bedrock', 'aws.bedrock'],
  ['azure.chat', 'azure.ai.openai'],
  ['mistral.chat', 'mistral_ai'],
  ['xai.chat', 'x_ai'],
  ['xaiver.chat', 'xaiver'],
  ['my-own', 'my-own'],
])('the AI SDK provider %s is named %s in traces', (provider, name) => {
  expect(telemetryProviderName(provider)).toBe(name);
});

it('each vendor’s provider has its name in traces', () => {
  const names = [OpenAIProvider, AnthropicProvider, GeminiProvider].map(
    (Provider) => new Provider({ apiKey: 'key' }).name,
  );
  expect(names).toEqual(['openai', 'anthropic', 'gcp.gemini']);
});
