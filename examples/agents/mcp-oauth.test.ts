import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { type Access, connectFor, oauthClient, onCallback } from './mcp-oauth.js';

test('a user is sent to the page of the server, and a wrong code is refused', async () => {
  // Metadata as RFC 9728 and RFC 8414 define them, and a server that knows no token and no code.
  const server = createServer((request, response) => {
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const bodies: Readonly<Record<string, object>> = {
      '/.well-known/oauth-protected-resource/mcp': { resource: `${origin}/mcp`, authorization_servers: [origin] },
      '/.well-known/oauth-authorization-server': {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
      },
    };
    const body = bodies[request.url ?? ''] ?? { error: 'invalid_grant', error_description: 'no such code' };
    const status = 'error' in body ? (request.url === '/token' ? 400 : 401) : 200;
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  const access: Access = { client: { client_id: 'my-application' } };
  let saves = 0;
  const client = oauthClient('https://app.test/callback', access, async () => void saves++);
  const page = new URL(String(await connectFor(url, client, access)));
  expect(page.pathname).toBe('/authorize');
  expect(page.searchParams.get('redirect_uri')).toBe('https://app.test/callback');
  expect(saves).toBeGreaterThan(1);
  const callback = new URL('https://app.test/callback?code=wrong');
  await expect(onCallback(url, client, callback)).rejects.toMatchObject({
    code: 'ERR_MCP_CONNECTION',
    message: expect.stringContaining('invalid_grant'),
  });
});
