import { createServer } from 'node:http';
import type { DashboardHandler } from 'hubline';
import { listenLocally } from '../../scripts/listen-locally.js';

/** Sends one GET over real HTTP. */
export async function get(handler: DashboardHandler, path: string): Promise<{ status: number; body: string }> {
  const server = createServer(handler);
  const port = await listenLocally(server);
  try {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return { status: response.status, body: await response.text() };
  } finally {
    server.close();
    server.closeAllConnections();
  }
}
