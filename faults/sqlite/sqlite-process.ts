import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { programOf } from '../workers/program.js';
import { until } from '../workers/scene.js';

/** Received, completed, failed and pending of each type of the worker. */
type Counts = readonly (readonly number[])[];

/** Running process that owns a file. */
export interface Owner {
  readonly pid: number | undefined;
  kill(signal: NodeJS.Signals): void;
  /** Kills the process and waits for its end. */
  end(): Promise<void>;
  /** Resolves when the process has sent a word, now or before. */
  sent(word: string): Promise<void>;
  /** Waits until nothing is pending. */
  drainedCounts(): Promise<Counts>;
}

/** Creates a folder for a file and its ledger, which is deleted after the test. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hubline-ledger-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/**
 * Starts a process that owns the file of a folder, and waits until it consumes.
 *
 * @param emitting `emit`, `fill` or nothing
 * @param first number before that of its first event
 * @param limit shell command that limits the process
 * @param disk folder of the file
 */
export async function startOwner(
  folder: string,
  emitting: string,
  first: number,
  limit = ':',
  disk: string = folder,
): Promise<Owner> {
  const args = [programOf('sqlite-worker'), join(disk, 'hub.db'), folder, String(first), emitting];
  const child = spawn('sh', ['-c', `${limit} && exec "$0" "$@"`, process.execPath, ...args], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  // It may send a message before the test waits for it.
  const words = new Set<unknown>();
  let received: Counts[] = [];
  child.on('message', (message: string | Counts) => {
    if (typeof message === 'string') words.add(message);
    else received.push(message);
  });
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null;
  const ended = once(child, 'exit');
  const receive = (what: string, isThere: () => boolean): Promise<void> =>
    until(what, () => {
      if (!isThere() && !isRunning()) throw new Error(`${what}: the process has ended with ${child.exitCode}`);
      return isThere();
    });
  const sent = (word: string): Promise<void> => receive(`the process sends "${word}"`, () => words.has(word));
  await sent('ready');
  return {
    pid: child.pid,
    sent,
    kill: (signal) => void child.kill(signal),
    async end() {
      child.kill('SIGKILL');
      await ended;
    },
    async drainedCounts() {
      for (;;) {
        received = [];
        child.send('counts');
        await receive('the process sends its counts', () => received.length > 0);
        const [counts = []] = received;
        if (counts.every(([, , , pending]) => pending === 0)) return counts;
        await delay(100);
      }
    },
  };
}
