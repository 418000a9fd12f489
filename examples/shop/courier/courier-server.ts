import { randomUUID, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';
import { listenOn } from '../listen.js';
import { simulateWork } from '../simulate.js';

/** MCP server of the courier, another company in a real shop. */
export interface CourierServer {
  readonly url: string;
  /** Bearer token of the shop. */
  readonly token: string;
  close(): void;
}

/** Starts the courier's MCP server on a free port. It keeps no sessions: each request has a server of its own. */
export async function startCourierServer(): Promise<CourierServer> {
  const token = randomUUID();
  const server = createServer(async (request, response) => {
    if (!isEqual(request.headers.authorization ?? '', `Bearer ${token}`)) response.writeHead(401).end();
    else if (request.method !== 'POST') response.writeHead(405).end();
    else {
      const transport = new StreamableHTTPServerTransport({});
      // The SDK's own types disagree under exactOptionalPropertyTypes.
      await createTracking().connect(transport as Parameters<McpServer['connect']>[0]);
      await transport.handleRequest(request, response);
    }
  });
  const url = await listenOn(server, 0);
  return {
    url,
    token,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function createTracking(): McpServer {
  const tracking = new McpServer({ name: 'courier', version: '1.0.0' });
  tracking.registerTool(
    'track_parcel',
    {
      description: "Returns the last known location of an order's parcel",
      inputSchema: { orderId: z.string().regex(/^A-\d+$/) },
      outputSchema: { orderId: z.string(), place: z.string(), expected: z.string() },
      annotations: { readOnlyHint: true },
    },
    async ({ orderId }, { signal }) => {
      await simulateWork(signal, 50, 400);
      const structuredContent = { orderId, place: 'depot Bergen', expected: 'tomorrow' };
      return { structuredContent, content: [{ type: 'text', text: JSON.stringify(structuredContent) }] };
    },
  );
  return tracking;
}

function isEqual(got: string, expected: string): boolean {
  const [a, b] = [Buffer.from(got), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
