import { type McpTools, mcpTools } from 'hubline/agents';
import type { CourierServer } from './courier-server.js';

/** Connects to the courier's MCP server. The courier desk needs one of its tools. */
export function connectCourier({ url, token }: Pick<CourierServer, 'url' | 'token'>): Promise<McpTools> {
  const headers = { authorization: `Bearer ${token}` };
  return mcpTools({ url, headers }, { allow: ['track_parcel'], timeoutMs: 5_000 });
}
