import { expect, onTestFinished, test } from 'vitest';
import { McpAuthorizationError, McpConnectionError } from './mcp-connection.js';
import { callTool, startMcpServer, text } from './mcp-server.fixture.js';
import type { McpServer } from './mcp-server.js';
import { finishMcpAuthorization, mcpTools } from './mcp-tools.js';
import { grant, startOAuthServer, storedClient } from './oauth-server.fixture.js';

/** Starts a server with OAuth. Its tool quotes the token that it receives. */
async function protectedServer() {
  const oauth = await startOAuthServer();
  const quote = {
    name: 'quote',
    call: () => ({ ...text(`you sent ${oauth.tokens.at(-1)}`), isError: true }),
  };
  const echo = { name: 'echo', call: () => text('hi') };
  const mcp = await startMcpServer([echo, quote], ({ authorization }) => oauth.guard(authorization));
  oauth.protect(mcp.url);
  return { oauth, mcp };
}

test('a user grants access once, in any process; tokens are refreshed, and reach the server only', async () => {
  const { oauth, mcp } = await protectedServer();
  const pages: URL[] = [];
  const store = new Map<string, unknown>();
  const headers = { 'x-tenant': 'tenant-of-the-server' };
  const server = () => ({ url: mcp.url, headers, authProvider: storedClient(pages, store) });
  const refused = await mcpTools(server()).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(McpAuthorizationError);
  expect(refused).toMatchObject({ code: 'ERR_MCP_AUTHORIZATION', server: new URL(mcp.url).origin });
  expect(pages).toHaveLength(1);
  await finishMcpAuthorization(server(), await grant(pages[0]));
  const { tools, close } = await mcpTools(server());
  onTestFinished(close);
  expect(await callTool(tools, 'echo', {})).toBe('hi');
  oauth.expire();
  expect(await callTool(tools, 'echo', {})).toBe('hi');
  expect(oauth.tokens).toHaveLength(2);
  // What the server says about its caller is for the model.
  const quoted = await callTool(tools, 'quote', {}).catch((error: unknown) => error);
  expect(quoted).toMatchObject({ code: 'ERR_MCP_TOOL', message: 'you sent [secret]' });
  oauth.expire(true);
  const ended = await callTool(tools, 'echo', {}).catch((error: unknown) => error);
  expect(ended).toMatchObject({ code: expect.stringMatching(/^ERR_MCP_(AUTHORIZATION|CONNECTION)$/) });
  // The authorization server has another origin.
  expect(oauth.headers.join()).not.toContain('tenant-of-the-server');
  expect(oauth.headers.join()).not.toContain(oauth.tokens[0]);
  expect(mcp.headers.every((sent) => sent['x-tenant'] === 'tenant-of-the-server')).toBe(true);
});

test('a wrong code is an error without the text of the authorization server, and a failing store is its cause', async () => {
  const { mcp } = await protectedServer();
  const pages: URL[] = [];
  const authProvider = storedClient(pages);
  await mcpTools({ url: mcp.url, authProvider }).catch(() => {});
  const refused = await finishMcpAuthorization({ url: mcp.url, authProvider }, 'secret-code').catch((error) => error);
  expect(refused).toBeInstanceOf(McpConnectionError);
  expect(refused.message).toContain('was refused by its authorization server (invalid_grant)');
  expect(refused.message).not.toContain('secret-code');
  const cause = new Error('the store is down');
  const failing = { ...authProvider, tokens: () => Promise.reject(cause) };
  const failed = await mcpTools({ url: mcp.url, authProvider: failing }).catch((error: unknown) => error);
  expect(failed).toMatchObject({
    code: 'ERR_MCP_CONNECTION',
    message: expect.stringContaining('has an authProvider that failed'),
    cause,
  });
});

test.each<[string, (server: McpServer) => Promise<unknown>, object, string]>([
  ['mcpTools', mcpTools, { authProvider: {} }, 'authProvider of mcpTools must be an object with the methods'],
  [
    'mcpTools',
    mcpTools,
    { authProvider: storedClient([]), headers: { Authorization: 'secret' } },
    'headers of mcpTools must be without authorization',
  ],
  ['finishing', (server) => finishMcpAuthorization(server as { url: string }, 'c'), {}, 'must be set'],
  [
    'finishing',
    (server) => finishMcpAuthorization(server as { url: string }, ''),
    { authProvider: storedClient([]) },
    'code of finishMcpAuthorization must be a non-empty string',
  ],
])('%s refuses wrong options without showing them', async (_, call, options, message) => {
  const failure = await call({ url: 'http://127.0.0.1:1/mcp', ...options }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'ERR_INVALID_OPTION', message: expect.stringContaining(message) });
  expect(String(failure)).not.toContain('secret');
});
