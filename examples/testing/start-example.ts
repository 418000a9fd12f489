import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject, onTestFinished } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Exit code and output of a process that ended. */
export interface ExampleEnd {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A program that runs in its own process. */
export interface Example {
  /** Resolves with the first `http` URL that the program prints. @throws {Error} if it ends without one */
  readonly url: Promise<string>;
  readonly ended: Promise<ExampleEnd>;
  /** Resolves when standard output contains `text`. @throws {Error} if the program ends without it */
  printed(text: string): Promise<void>;
  /** Sends a signal and waits for the end. */
  stop(signal?: 'SIGTERM' | 'SIGINT' | 'SIGKILL'): Promise<ExampleEnd>;
}

/** Runs a file of `examples/`, compiled, from the root of the repository. The end of the test kills it. */
export function startExample(
  file: string,
  { args = [], env = {} }: { args?: readonly string[]; env?: Readonly<Record<string, string>> } = {},
): Example {
  return startNode([join(inject('programs'), file.replace(/\.ts$/, '.js')), ...args], { cwd: root, env });
}

/** Runs Node with these arguments. The end of the test kills it. */
export function startNode(
  args: readonly string[],
  { cwd, env }: { cwd: string; env: Readonly<Record<string, string>> },
): Example {
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  const ended = once(child, 'close').then((): ExampleEnd => {
    return { exitCode: child.exitCode, stdout: stdout.text, stderr: stderr.text };
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const match = (pattern: RegExp): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = pattern.exec(stdout.text);
        if (found === null) return;
        child.stdout.off('data', look);
        resolve(found[0]);
      };
      child.stdout.on('data', look);
      look();
      ended.then(
        (end) => reject(new Error(`${args.join(' ')} ended with ${end.exitCode} before ${pattern}:\n${end.stderr}`)),
        reject,
      );
    });
  const url = match(/http:\/\/\S+/);
  // A test that only awaits `ended` never awaits `url`.
  url.catch(() => {});
  return {
    url,
    ended,
    async printed(text) {
      await match(new RegExp(text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')));
    },
    stop(signal = 'SIGTERM') {
      child.kill(signal);
      return ended;
    },
  };
}

function collect(stream: NonNullable<ChildProcess['stdout']>): { readonly text: string } {
  const collected = { text: '' };
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    collected.text += chunk;
  });
  return collected;
}
