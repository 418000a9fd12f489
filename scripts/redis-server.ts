import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from './listen-locally.js';

/** A Redis of one's own. */
export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** Ends the server; what it has on disk is kept for `start`. */
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** Starts it again, on the same port and with what it has on disk. */
  start(): Promise<void>;
  /** Ends the server and removes what it has on disk. */
  release(): Promise<void>;
}

const names = ['redis-server', 'valkey-server'];

/**
 * Finds a Redis server (`$REDIS_SERVER_PATH`, then the PATH), or installs one through the system's package manager.
 *
 * @throws where neither can be done
 */
export function ensureRedisServer(): string {
  const found = findRedisServer();
  if (found !== undefined) return found;
  for (const [command, ...args] of installers()) {
    console.log(`no redis-server found: ${[command, ...args].join(' ')}`);
    if (command === undefined || spawnSync(command, args, { stdio: 'inherit' }).status !== 0) continue;
    const installed = findRedisServer();
    if (installed !== undefined) return installed;
  }
  throw new Error(
    'no redis-server: install Redis 7 or Valkey (apt-get install redis-server, brew install redis), or set REDIS_SERVER_PATH',
  );
}

function findRedisServer(): string | undefined {
  const candidates = [process.env['REDIS_SERVER_PATH'], ...names];
  return candidates.find(
    (command) => command !== undefined && spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0,
  );
}

function installers(): string[][] {
  if (process.platform === 'darwin') return [['brew', 'install', 'redis']];
  if (process.platform !== 'linux') return [];
  const root = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  const apt = [...root, 'apt-get'];
  // A package list may be missing or old: the second try is after an update.
  const install = [...apt, 'install', '-y', '--no-install-recommends', 'redis-server'];
  return [install, [...apt, 'update'], install];
}

/**
 * Starts a Redis on a free port, with its files in a temporary folder. It ends with this process, also
 * where that crashes.
 *
 * @param settings such as `['--appendonly', 'yes']`; nothing is persisted unless they say so
 */
export async function startRedisServer(settings: readonly string[] = []): Promise<RedisServer> {
  const command = ensureRedisServer();
  const folder = await mkdtemp(join(tmpdir(), 'hubline-redis-'));
  const port = await freePort();
  let child: ChildProcess | undefined;

  const start = async (): Promise<void> => {
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '', ...settings];
    // The shell waits for its input to end, which it does with this process however that ends.
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
    // The group is the shell, the server and what watches them.
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
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function untilListening(port: number, server: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    if (server.exitCode !== null) throw new Error(`redis-server ended with code ${server.exitCode}`);
    if (await answers(port)) return;
    await delay(25);
  }
  throw new Error('redis-server did not answer within 5 s');
}

async function untilClosed(port: number): Promise<void> {
  while (await answers(port)) await delay(10);
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return new Promise((resolve) => {
    // A server that ends just after it has accepted closes without an error; every error closes as well.
    socket.on('error', () => {});
    socket.once('close', () => resolve(false));
    socket.once('connect', () => socket.write('PING\r\n'));
    socket.once('data', (data) => {
      resolve(data.toString().startsWith('+PONG'));
      socket.destroy();
    });
  });
}
