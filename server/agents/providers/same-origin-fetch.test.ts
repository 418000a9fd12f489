import { afterEach, describe, expect, it } from 'vitest';
import type { Message } from '../model/message.js';
import { AnthropicProvider, GeminiProvider, OpenAIProvider } from './vendor-providers.js';
import { serve, type WireServer } from './wire.fixture.js';

const messages: Message[] = [{ role: 'user', content: 'the prompt' }];
const options = { model: 'm' };
const servers: WireServer[] = [];

async function start(...[answer]: Parameters<typeof serve>): Promise<WireServer> {
  const server = await serve(answer);
  servers.push(server);
  return server;
}

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

describe.each([
  ['openai', (baseUrl: string) => new OpenAIProvider({ apiKey: 'secret-key', baseUrl })],
  ['anthropic', (baseUrl: string) => new AnthropicProvider({ apiKey: 'secret-key', baseUrl })],
  ['gcp.gemini', (baseUrl: string) => new GeminiProvider({ apiKey: 'secret-key', baseUrl })],
])('%s', (name, create) => {
  it.each([301, 302, 303, 307, 308])('does not follow a redirect (%i) to another origin', async (status) => {
    const stranger = await start((response) => void response.end('{}'));
    const vendor = await start((response) => void response.writeHead(status, { location: stranger.url }).end());
    await expect(create(vendor.url).chat(messages, options)).rejects.toMatchObject({
      code: 'ERR_PROVIDER',
      retryable: false,
      message: `${name} redirects (${status}) to ${stranger.url}; set baseUrl to the final address`,
    });
    expect(vendor.requests).toHaveLength(1);
    expect(stranger.requests).toEqual([]);
  });

  it('follows a redirect within its origin, up to five', async () => {
    const vendor = await start((response) => void response.writeHead(307, { location: '/again' }).end());
    await expect(create(vendor.url).chat(messages, options)).rejects.toMatchObject({ statusCode: 307 });
    expect(vendor.requests).toHaveLength(6);
    expect(new Set(vendor.requests.slice(1).map(({ path }) => path))).toEqual(new Set(['/again']));
    expect(JSON.stringify(vendor.requests[5]?.body)).toContain('the prompt');
  });
});
