import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { InvalidOptionError } from '../../errors.js';
import { InvalidApiKeyError } from '../model/provider-error.js';
import { AnthropicProvider, GeminiProvider, OpenAIProvider } from './vendor-providers.js';

describe.each([
  ['OpenAIProvider', OpenAIProvider],
  ['AnthropicProvider', AnthropicProvider],
  ['GeminiProvider', GeminiProvider],
] as const)('%s', (name, Provider) => {
  test.each([
    [undefined, 'undefined'],
    [null, 'null'],
    ['', 'an empty string'],
    ['secret key\n', '11 characters with a space, a line break or the like'],
    ['sécret', '6 characters with a space, a line break or the like'],
  ])('refuses the key %j without showing it', (apiKey, got) => {
    const create = (): unknown => new Provider({ apiKey } as { apiKey: string });
    expect(create).toThrow(InvalidApiKeyError);
    expect(create).toThrow(
      `apiKey of ${name} must be a non-empty string of printable ASCII without spaces, got ${got};`,
    );
  });

  test.each(['', 'api.test', 'ftp://api.test', 7])('refuses the baseUrl %j', (baseUrl) => {
    expect(() => new Provider({ apiKey: 'k', baseUrl: baseUrl as string })).toThrow(InvalidOptionError);
  });

  test.each(['https://me:hidden@api.test/v1', 'https://api.test/v1?key=hidden'])(
    'refuses %s without showing it',
    (baseUrl) => {
      const create = (): unknown => new Provider({ apiKey: 'k', baseUrl });
      expect(create).toThrow('must be a URL without user, password and query, got "https://api.test"');
      expect(create).not.toThrow('hidden');
    },
  );
});

test('a remote address without TLS is named in one warning, and one on this machine in none', () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  onTestFinished(() => warn.mockRestore());
  for (const baseUrl of [
    'http://127.0.0.1:11434/v1',
    'http://localhost/v1',
    'http://[::1]:1/v1',
    'https://api.test/v1',
  ]) {
    new OpenAIProvider({ apiKey: 'k', baseUrl });
  }
  expect(warn).not.toHaveBeenCalled();
  for (const Provider of [OpenAIProvider, AnthropicProvider]) {
    new Provider({ apiKey: 'hidden', baseUrl: 'http://models.test:8080/v1' });
  }
  expect(warn.mock.calls).toEqual([
    [
      'the connection of OpenAIProvider to http://models.test:8080 is not encrypted: the API key, prompts and answers are readable on the network; use https://',
    ],
  ]);
});

const deployment = 'https://r.openai.azure.com/openai/deployments/d';

test.each<[object, string]>([
  [{ dialect: 'latin' }, 'dialect of OpenAIProvider must be "openai", "azure" or "compatible", got a string'],
  [{ api: 'batch' }, 'api of OpenAIProvider must be "chat" or "responses", got a string'],
  [
    { api: 'responses', dialect: 'compatible' },
    'dialect of OpenAIProvider must be "openai" or "azure" with api "responses"',
  ],
  [{ apiVersion: '2024-10-21' }, 'apiVersion of OpenAIProvider must be omitted, except for Azure'],
  [{ dialect: 'azure', apiVersion: 'a b' }, 'apiVersion of OpenAIProvider must be a version such as "2024-10-21"'],
  [{ baseUrl: deployment }, 'apiVersion of OpenAIProvider must be set for a baseUrl with a deployment'],
  [{ baseUrl: deployment, api: 'responses' }, 'without a deployment: pass that as the model'],
])('OpenAIProvider refuses %j', (options, message) => {
  const create = () => new OpenAIProvider({ apiKey: 'k', ...options });
  expect(create).toThrow(InvalidOptionError);
  expect(create).toThrow(message);
});

test.each([
  ['https://api.openai.com/v1', 'json_schema'],
  ['https://eu.api.openai.com/v1', 'json_schema'],
  ['https://us.api.openai.com/v1/', 'json_schema'],
  ['https://api.openai.com.test/v1', 'json_object'],
  ['https://myapi.openai.com/v1', 'json_object'],
])('the dialect of %s has the format %s', async (baseUrl, type) => {
  // No test can reach these hosts.
  const fetched = vi.spyOn(globalThis, 'fetch').mockImplementation(async () => Response.json({}, { status: 400 }));
  onTestFinished(() => fetched.mockRestore());
  const schema = { type: 'object', properties: {}, additionalProperties: false };
  const options = { model: 'gpt-4o', responseFormat: { type: 'json', schema } } as const;
  await expect(new OpenAIProvider({ apiKey: 'k', baseUrl }).chat([], options)).rejects.toThrow('400');
  const [, init] = fetched.mock.calls[0] ?? [];
  expect(JSON.parse(String(init?.body))).toMatchObject({ response_format: { type } });
});
