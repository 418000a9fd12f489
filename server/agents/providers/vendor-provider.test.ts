import { expect, test } from 'vitest';
import * as agents from '../index.js';
import { AnthropicProvider, GeminiProvider, OpenAIProvider } from './vendor-providers.js';

// The AI SDK's spelling: if it were ignored, prompts for this server would reach the vendor.
const misspelt = { apiKey: 'k', baseURL: 'http://127.0.0.1:1/v1' };

test.each([
  ['OpenAIProvider must be one of apiKey, baseUrl, api, dialect, apiVersion, got "baseURL"', OpenAIProvider],
  ['AnthropicProvider must be one of apiKey, baseUrl, got "baseURL"', AnthropicProvider],
  ['GeminiProvider must be one of apiKey, baseUrl, got "baseURL"', GeminiProvider],
])('refuses a misspelt option: %s', (message, Provider) => {
  expect(() => new Provider(misspelt)).toThrow(message);
});

test.each([
  ['AlphaProvider', agents.AlphaProvider, agents.OpenAIProvider],
  ['BetaProvider', agents.BetaProvider, agents.AnthropicProvider],
  ['GammaProvider', agents.GammaProvider, agents.GeminiProvider],
] as const)('%s is the same class under the name of the specification', (_, specified, vendor) => {
  expect(specified).toBe(vendor);
});
