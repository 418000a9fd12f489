import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** How a process ended, with all that it printed. */
export interface ExampleEnd {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A program that runs in a process of its own. */
export interface Example {
  /** Resolves with the first `http` URL that it prints. @throws {Error} where it ends without */
  readonly url: Promise<string>;
  readonly ended: Promise<ExampleEnd>;
  /** Asks it to end, and waits. */
  stop(signal?: 'SIGTERM' | 'SIGINT'): Promise<ExampleEnd>;
}

/** Runs a file of `examples/` as a user would, through tsx, from the root of the package, until the test ends at the latest. */
export function startExample(
  file: string,
  { args = [], env = {} }: { args?: readonly string[]; env?: Readonly<Record<string, string>> } = {},
): Example {
  return startNode(['--import', 'tsx', `examples/${file}`, ...args], { cwd: root, env });
}

/** Runs Node with these arguments, until the test ends at the latest. */
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
  const url = new Promise<string>((resolve, reject) => {
    child.stdout.on('data', () => {
      const found = /http:\/\/\S+/.exec(stdout.text);
      if (found !== null) resolve(found[0]);
    });
    ended.then(
      (end) =>
        reject(new Error(`${args.join(' ')} ended with ${end.exitCode} before it printed a URL:\n${end.stderr}`)),
      reject,
    );
  });
  // Whoever expects it to end at once waits for `ended` and never looks here.
  url.catch(() => {});
  return {
    url,
    ended,
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
