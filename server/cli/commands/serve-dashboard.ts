import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { createDashboardHandler } from '../../dashboard/create-dashboard-handler.js';
import { canonicalHost, isLoopbackHost } from '../../options.js';
import type { CommandContext } from '../command-context.js';
import { ExitError } from '../terminal.js';

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

/**
 * Runs the demo shop with its dashboard in a process of its own, which reads the arguments and receives the signals of
 * the terminal.
 *
 * @throws {ExitError} with its exit code
 */
export async function runDemo({ signal }: Pick<CommandContext, 'signal'>, args: readonly string[]): Promise<void> {
  // Its place in the package, beside the folder of the command line.
  const program = fileURLToPath(new URL('../demo/main.js', import.meta.url));
  const shop = spawn(process.execPath, [program, ...args], { stdio: 'inherit' });
  const stop = (): void => void shop.kill('SIGTERM');
  signal.addEventListener('abort', stop);
  const [code] = await once(shop, 'exit');
  signal.removeEventListener('abort', stop);
  // A signal can end it before it listens for one.
  if (code === 0 || (code === null && signal.aborted)) return;
  throw new ExitError(typeof code === 'number' ? code : 1, `The demo ended with code ${code}.`);
}
