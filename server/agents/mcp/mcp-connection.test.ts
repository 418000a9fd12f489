import { expect, test } from 'vitest';
import { silentLogger } from '../../transports/transport.js';
import { McpConnection } from './mcp-connection.js';
import type { McpSdk, McpSession } from './mcp-sdk.js';

test('a session that opens while the connection closes is ended', async () => {
  let isClosed = false;
  let closing: Promise<void> | undefined;
  const session: Partial<McpSession> = {
    list: async () => [],
    close: async () => {
      isClosed = true;
    },
  };
  const sdk: Partial<McpSdk> = {
    async open() {
      await Promise.resolve();
      closing = connection.close();
      return session as McpSession;
    },
    explain: () => undefined,
  };
  const options = { logger: silentLogger, onTools: async () => {} };
  const connection = new McpConnection(sdk as McpSdk, { url: 'http://127.0.0.1:1' }, options);
  await expect(connection.start()).rejects.toMatchObject({ code: 'ERR_MCP_CONNECTION' });
  await closing;
  expect(isClosed).toBe(true);
});
