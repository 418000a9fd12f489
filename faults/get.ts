import { once } from 'node:events';
import { createServer } from 'node:http';
import type { DashboardHandler } from 'hubline';

/** One GET over real HTTP. */
export async function get(handler: DashboardHandler, path: string): Promise<{ status: number; body: string }> {
  const server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  try {
    const response = await fetch(`http://127.0.0.1:${address.port}${path}`);
    return { status: response.status, body: await response.text() };
  } finally {
    server.close();
    server.closeAllConnections();
  }
}
