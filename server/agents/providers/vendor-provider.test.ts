import { expect, test } from 'vitest';
import { AlphaProvider } from './alpha-provider.js';
import { BetaProvider } from './beta-provider.js';
import { GammaProvider } from './gamma-provider.js';

// As the AI SDK spells it: the vendor itself would get what was meant for the server at that address.
const misspelt = { apiKey: 'k', baseURL: 'http://127.0.0.1:1/v1' };

test.each([
  ['AlphaProvider must be one of apiKey, baseUrl, dialect, got "baseURL"', AlphaProvider],
  ['BetaProvider must be one of apiKey, baseUrl, got "baseURL"', BetaProvider],
  ['GammaProvider must be one of apiKey, baseUrl, got "baseURL"', GammaProvider],
])('refuses a misspelt option: %s', (message, Provider) => {
  expect(() => new Provider(misspelt)).toThrow(message);
});
