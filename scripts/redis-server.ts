import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ReservedPort, reservePort } from './listen-locally.js';
import { aptGet, mayInstall, optOutHint } from './may-install.js';

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

const names = ['redis-server', 'valkey-server'];
const startLimitMs = 120_000;

/**
 * Finds a Redis server (`$REDIS_SERVER_PATH`, then the PATH), or installs one with the system's package manager.
 *
 * @param env environment variables; `HUBLINE_NO_INSTALL=1` forbids the installation
 * @throws {Error} if there is no server and none can or may be installed
 */
export function ensureRedisServer(env: NodeJS.ProcessEnv = process.env): string {
  const found = findRedisServer(env);
  if (found !== undefined) return found;
  for (const [command, ...args] of mayInstall(env) ? installers() : []) {
    console.log(`No redis-server found. Installing one with ${[command, ...args].join(' ')}. ${optOutHint}`);
    if (command === undefined || spawnSync(command, args, { stdio: 'inherit' }).status !== 0) continue;
    const installed = findRedisServer(env);
    if (installed !== undefined) return installed;
  }
  throw new Error(
    'no redis-server found: install Redis 7 or Valkey (Debian: apt-get install redis-server; macOS: brew install redis), or set REDIS_SERVER_PATH',
  );
}

function findRedisServer(env: NodeJS.ProcessEnv): string | undefined {
  const { REDIS_SERVER_PATH: wanted } = env;
  const candidates = wanted ? [wanted, ...names] : names;
  return candidates.find((command) => spawnSync(command, ['--version'], { stdio: 'ignore', env }).status === 0);
}

function installers(): string[][] {
  if (process.platform === 'darwin') return [['brew', 'install', 'redis']];
  if (process.platform !== 'linux') return [];
  const root = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  const apt = [...root, ...aptGet];
  // The package list may be missing or old: update it and retry.
  const install = [...apt, 'install', '-y', '--no-install-recommends', 'redis-server'];
  return [install, [...apt, 'update'], install];
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
  let child: ChildProcess | undefined;

  const start = async (): Promise<void> => {
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '', ...settings];
    // The pipe on descriptor 3 closes when this process ends for any reason, kill -9 included; `cat` then returns.
    const script = '"$@" & server=$!; (cat >/dev/null; kill -9 $server 2>/dev/null) <&3 & wait $server';
    const stdio = ['ignore', 'ignore', 'inherit', 'pipe'] as const;
    child = spawn('sh', ['-c', script, 'sh', command, ...args], { stdio: [...stdio], detached: true });
    child.unref();
    await untilListening(port, child);
  };
  const stop = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<void> => {
    const running = child;
    child = undefined;
    if (running?.pid === undefined || running.exitCode !== null) return;
    const ended = once(running, 'exit');
    // This process ends before the server if nothing else keeps it alive.
    running.ref();
    // The process group holds the shell, the server and the watcher.
    process.kill(-running.pid, signal);
    await ended;
    await untilClosed(port);
  };

  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    start,
    stop,
    async release() {
      await stop('SIGKILL');
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

async function untilListening(port: number, server: ChildProcess): Promise<void> {
  // A server that has many data to load, on a busy machine, takes seconds.
  const until = performance.now() + startLimitMs;
  while (performance.now() < until) {
    if (server.exitCode !== null) throw new Error(`redis-server ended with code ${server.exitCode}`);
    if (await answers(port)) return;
    await delay(25);
  }
  throw new Error(`redis-server did not answer within ${startLimitMs} ms`);
}

async function untilClosed(port: number): Promise<void> {
  while (await answers(port)) await delay(10);
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
