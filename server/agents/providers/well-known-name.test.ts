import { expect, it } from 'vitest';
import { AnthropicProvider } from './anthropic-provider.js';
import { GeminiProvider } from './gemini-provider.js';
import { OpenAIProvider } from './openai-provider.js';
import { wellKnownName } from './well-known-name.js';

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
])('the AI SDK’s %s is %s in a trace', (provider, name) => {
  expect(wellKnownName(provider)).toBe(name);
});

it('each vendor’s provider says whose it is', () => {
  const names = [OpenAIProvider, AnthropicProvider, GeminiProvider].map(
    (Provider) => new Provider({ apiKey: 'key' }).name,
  );
  expect(names).toEqual(['openai', 'anthropic', 'gcp.gemini']);
});
