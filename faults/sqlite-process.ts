import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';

const script = fileURLToPath(new URL('sqlite-worker.ts', import.meta.url));

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
): Promise<ChildProcess> {
  const args = ['--import', 'tsx', script, join(disk, 'hub.db'), folder, String(first), emitting];
  const child = spawn('sh', ['-c', `${limit} && exec "$0" "$@"`, process.execPath, ...args], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  expect(await Promise.race([once(child, 'message'), once(child, 'exit')])).toEqual(['ready', undefined]);
  return child;
}

/** Kills a process and waits for its end. */
export async function kill(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

/** Waits until nothing is pending. Returns received, completed, failed and pending of each type of the worker. */
export async function drainedCounts(child: ChildProcess): Promise<readonly (readonly number[])[]> {
  for (;;) {
    child.send('counts');
    const [counts]: [readonly (readonly number[])[]] = await once(child, 'message').then(([first]) => [first]);
    if (counts.every(([, , , pending]) => pending === 0)) return counts;
    await delay(100);
  }
}
