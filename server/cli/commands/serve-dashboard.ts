import { once } from 'node:events';
import { createServer } from 'node:http';
import { createDashboardHandler } from '../../dashboard/create-dashboard-handler.js';
import { canonicalHost, isLoopbackHost } from '../../options.js';
import type { CommandContext } from '../command-context.js';

/** Options of `hubline dashboard`. */
export interface DashboardFlags {
  readonly port: number;
  readonly host: string;
}

const loopback = ['127.0.0.1', 'localhost', '[::1]'];

/** Serves the dashboard until the signal aborts. On a loopback address it answers loopback names alone. */
export async function serveDashboard(
  { connection, terminal, json, signal }: CommandContext,
  { port, host }: DashboardFlags,
): Promise<void> {
  const hub = await connection.hub();
  const isLocal = isLoopbackHost(host);
  const allowedHosts = [...loopback, canonicalHost(host) ?? host];
  const server = createServer(createDashboardHandler(hub, isLocal ? { allowedHosts } : {}));
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  const shownHost = host.includes(':') ? `[${host}]` : host;
  const url = `http://${shownHost}:${typeof address === 'object' && address !== null ? address.port : port}/`;
  if (json) terminal.json({ url });
  else terminal.line(url);
  if (!isLocal) terminal.note('Everyone who can reach this address can read the dashboard.');
  if (!signal.aborted) await once(signal, 'abort');
  server.close();
  server.closeAllConnections();
}
