import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ReservedPort, reservePort } from './listen-locally.js';
import { ensureProgram, ServerProcess } from './server-process.js';

/** Redis server for tests, in its own process. */
export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** Ends the server; its files stay for `start`. */
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** Starts the server again, on the same port and with the same files. */
  start(): Promise<void>;
  /** Ends the server and removes its files. */
  release(): Promise<void>;
}

/**
 * Finds a Redis server (`$REDIS_SERVER_PATH`, then the PATH), or installs one with the system's package manager.
 *
 * @param env environment variables; `HUBLINE_NO_INSTALL=1` forbids the installation
 * @throws {Error} if there is no server and none can or may be installed
 */
export function ensureRedisServer(env: NodeJS.ProcessEnv = process.env): string {
  const { REDIS_SERVER_PATH: wanted } = env;
  const names = ['redis-server', 'valkey-server'];
  return ensureProgram(
    {
      name: 'redis-server',
      candidates: wanted ? [wanted, ...names] : names,
      packages: { apt: 'redis-server', brew: 'redis' },
      missing:
        'no redis-server found: install Redis 7 or Valkey (Debian: apt-get install redis-server; macOS: brew install redis), or set REDIS_SERVER_PATH',
    },
    env,
  );
}

/**
 * Starts a Redis server on a free port, with its files in a temporary folder. The server ends with this process,
 * even if this process crashes.
 *
 * @param settings command-line settings such as `['--appendonly', 'yes']`; persistence is off by default
 */
export async function startRedisServer(settings: readonly string[] = []): Promise<RedisServer> {
  const command = ensureRedisServer();
  const folder = await mkdtemp(join(tmpdir(), 'hubline-redis-'));
  const { port, release: releasePort } = await (settings.includes('--cluster-enabled')
    ? reserveNodePorts()
    : reservePort());
  const server = new ServerProcess({
    command: [command, '--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '', ...settings],
    lastSignal: 'KILL',
    stderr: 'inherit',
    answers: () => answers(port),
    hasEnded: async () => !(await answers(port)),
  });
  await server.start();
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    start: () => server.start(),
    stop: (signal = 'SIGTERM') => server.stop(signal),
    async release() {
      await server.stop('SIGKILL');
      releasePort();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Reserves a port and the one for the bus of the cluster, which is 10,000 above it. */
async function reserveNodePorts(): Promise<ReservedPort> {
  for (;;) {
    const { port, release } = await reservePort({ start: 10_000, end: 22_000 });
    const bus = await reservePort({ start: port + 10_000, end: port + 10_002 }).catch(() => undefined);
    if (bus === undefined) {
      release();
      continue;
    }
    return {
      port,
      release() {
        release();
        bus.release();
      },
    };
  }
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return new Promise((resolve) => {
    // A server that ends right after it accepted closes without an error; an error also emits `close`.
    socket.on('error', () => {});
    socket.once('close', () => resolve(false));
    socket.once('connect', () => socket.write('PING\r\n'));
    socket.once('data', (data) => {
      resolve(data.toString().startsWith('+PONG'));
      socket.destroy();
    });
  });
}
