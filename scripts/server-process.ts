/**
 * Servers for tests: find or install their programs, start and end their processes.
 *
 * @module
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { aptGet, mayInstall, optOutHint } from './may-install.js';

const startLimitMs = 120_000;

/** User and group of a process. */
interface ProcessUser {
  readonly uid: number;
  readonly gid: number;
}

/** Owner of servers that refuse to run as root: `nobody`. `undefined` if this process does not run as root. */
export const unprivileged: ProcessUser | undefined =
  process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined;

/** Program of a server. */
interface ServerProgram {
  /** Name in messages. */
  readonly name: string;
  /** Commands, of which the first one that prints its version is used. */
  readonly candidates: readonly string[];
  /** Names of its packages. */
  readonly packages: { readonly apt: string; readonly brew: string };
  /** Message of the error if there is none. */
  readonly missing: string;
}

/**
 * Returns the command of a server, which it installs with the system's package manager if it is missing.
 *
 * @param env environment variables; `HUBLINE_NO_INSTALL=1` forbids the installation
 * @throws {Error} if there is none and none can or may be installed
 */
export function ensureProgram({ name, candidates, packages, missing }: ServerProgram, env: NodeJS.ProcessEnv): string {
  const find = (): string | undefined =>
    candidates.find((command) => spawnSync(command, ['--version'], { stdio: 'ignore', env }).status === 0);
  const found = find();
  if (found !== undefined) return found;
  for (const [command, ...args] of mayInstall(env) ? installers(packages) : []) {
    console.log(`No ${name} found. Installing one with ${[command, ...args].join(' ')}. ${optOutHint}`);
    if (command === undefined || spawnSync(command, args, { stdio: 'inherit' }).status !== 0) continue;
    const installed = find();
    if (installed !== undefined) return installed;
  }
  throw new Error(missing);
}

function installers({ apt: aptPackage, brew }: ServerProgram['packages']): string[][] {
  if (process.platform === 'darwin') return [['brew', 'install', brew]];
  if (process.platform !== 'linux') return [];
  const root = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  const apt = [...root, ...aptGet];
  // The package list may be missing or old: update it and retry.
  const install = [...apt, 'install', '-y', '--no-install-recommends', aptPackage];
  return [install, [...apt, 'update'], install];
}

/** Command line of a server, and how it shows its state. */
interface ServerCommand {
  /** Program with its arguments. */
  readonly command: readonly [string, ...string[]];
  /** Signal that ends the server when this process has ended. */
  readonly lastSignal: 'KILL' | 'QUIT';
  /** Resolves with `true` when the server accepts work. */
  answers(): Promise<boolean>;
  /** Resolves with `true` when the server has ended. */
  hasEnded(): Promise<boolean>;
  /** @default the user of this process */
  readonly user?: ProcessUser | undefined;
  /** Working directory. */
  readonly folder?: string;
  /** Where errors of the server are printed. @default 'ignore' */
  readonly stderr?: 'inherit' | 'ignore';
}

/** Process of a server, which ends with this process, even if this process crashes. */
export class ServerProcess {
  readonly #server: ServerCommand;
  #child: ChildProcess | undefined;

  constructor(server: ServerCommand) {
    this.#server = server;
  }

  /** Starts the server. Resolves when it answers. @throws {Error} if it ends before, or does not answer */
  async start(): Promise<void> {
    const { command, lastSignal, user, folder, stderr = 'ignore' } = this.#server;
    // The pipe on descriptor 3 closes when this process ends for any reason, kill -9 included; `cat` then returns.
    const script = `"$@" & server=$!; (cat >/dev/null; kill -${lastSignal} $server 2>/dev/null) <&3 & wait $server`;
    this.#child = spawn('sh', ['-c', script, 'sh', ...command], {
      ...user,
      stdio: ['ignore', 'ignore', stderr, 'pipe'],
      detached: true,
      cwd: folder,
    });
    this.#child.unref();
    await this.#untilAnswering(this.#child);
  }

  /** Sends a signal to the server. Resolves when it has ended; at once if it does not run. */
  async stop(signal: NodeJS.Signals): Promise<void> {
    const running = this.#child;
    this.#child = undefined;
    if (running?.pid === undefined || running.exitCode !== null) return;
    const ended = once(running, 'exit');
    // This process ends before the server if nothing else keeps it alive.
    running.ref();
    // The process group holds the shell, the server and the watcher.
    process.kill(-running.pid, signal);
    await ended;
    // The shell may end before the server has.
    while (!(await this.#server.hasEnded())) await delay(10);
    // A shell lets what it started in the background ignore SIGINT: the watcher ends with the pipe.
    running.stdio[3]?.destroy();
  }

  async #untilAnswering(child: ChildProcess): Promise<void> {
    const [name] = this.#server.command;
    // A server that has many data to load, on a busy machine, takes seconds.
    const until = performance.now() + startLimitMs;
    while (performance.now() < until) {
      if (child.exitCode !== null) throw new Error(`${name} ended with code ${child.exitCode}`);
      if (await this.#server.answers()) return;
      await delay(25);
    }
    throw new Error(`${name} did not answer within ${startLimitMs} ms`);
  }
}
