import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'vite';
import { onTestFinished } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** Exit code and output of a command. */
export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Command that runs in its own process. The end of the test ends it. */
export interface RunningCommand {
  readonly child: ChildProcess;
  readonly ended: Promise<CommandResult>;
}

/** Surroundings of a command. */
export interface CommandSurroundings {
  /** The standard input is a terminal, and stays open. */
  readonly isTerminal?: boolean;
  /** Nobody reads the standard output. */
  readonly isUnread?: boolean;
}

/** Command line as the package has it. */
export interface CommandLine {
  /** Path of the binary. */
  readonly program: string;
  start(args: readonly string[], surroundings?: CommandSurroundings): RunningCommand;
  /** Runs a command to its end. */
  run(...args: readonly string[]): Promise<CommandResult>;
  /** Removes the binary. */
  remove(): Promise<void>;
}

/** Builds the binary below the dependencies of the repository. */
export async function buildCommandLine(): Promise<CommandLine> {
  await mkdir(join(root, '.cache'), { recursive: true });
  const outDir = await mkdtemp(join(root, '.cache/command-line-'));
  await build({ configFile: join(root, 'server/vite.config.ts'), logLevel: 'silent', build: { outDir } });
  const start: CommandLine['start'] = (args, { isTerminal = false, isUnread = false } = {}) => {
    const preloaded = isTerminal ? ['--import', 'data:text/javascript,process.stdin.isTTY = true'] : [];
    const child = spawn(process.execPath, [...preloaded, join(outDir, 'cli/main.js'), ...args], {
      env: { ...process.env, REDIS_URL: '' },
    });
    onTestFinished(() => void child.kill());
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (data) => {
      stdout += data;
    });
    child.stderr.on('data', (data) => {
      stderr += data;
    });
    if (isUnread) child.stdout.destroy();
    if (!isTerminal) child.stdin.end();
    return { child, ended: once(child, 'close').then(([code]) => ({ code, stdout, stderr })) };
  };
  return {
    program: join(outDir, 'cli/main.js'),
    start,
    run: (...args) => start(args).ended,
    remove: () => rm(outDir, { recursive: true }),
  };
}
