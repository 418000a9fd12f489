import { statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { FileInUseError, reasonOf } from '../sqlite-errors.js';
import type { Database, OpenDatabase } from './driver.js';

// SQLite cannot tell two of its copies in one process apart, and neither can the locks of the operating system.
const registry = Symbol.for('hubline.sqlite.files');

/** Right of one transport to a file. The operating system takes it back when the process dies. */
export interface FileLock {
  release(): void;
}

// An observer owns a file for one call if no process does.
const patienceMs = 1_000;
const retryMs = 20;

/**
 * Locks a file as soon as the other process that has it ends, within a second.
 *
 * @throws {FileInUseError}
 */
export async function awaitLock(file: string, open: OpenDatabase): Promise<FileLock> {
  const until = performance.now() + patienceMs;
  for (;;) {
    // A process that was suspended in the meantime tries once more.
    const isLast = performance.now() > until;
    try {
      return lockFile(file, open);
    } catch (error) {
      // A transport of this process does not release it that soon.
      const isOwnedElsewhere = error instanceof FileInUseError && error.cause !== undefined;
      if (!isOwnedElsewhere || isLast) throw error;
    }
    await delay(retryMs);
  }
}

/**
 * Locks a file by an open transaction on a second file next to it, so that readers of the first one are not locked out.
 *
 * @throws {FileInUseError}
 */
function lockFile(file: string, open: OpenDatabase): FileLock {
  const owned = filesOfProcess();
  if (owned.has(file)) throw new FileInUseError(file);
  const database = open(`${file}-lock`);
  try {
    // Another process may look for a moment whether the file is owned.
    database.exec('PRAGMA busy_timeout = 100; BEGIN EXCLUSIVE');
  } catch (cause) {
    database.close();
    throw isBusy(cause) ? new FileInUseError(file, { cause }) : cause;
  }
  owned.add(file);
  return {
    release() {
      owned.delete(file);
      closeQuietly(database);
    },
  };
}

/** Returns `true` if a transport owns a file, in this process or in another one. */
export function isLocked(file: string, open: OpenDatabase): boolean {
  if (filesOfProcess().has(file)) return true;
  const lock = `${file}-lock`;
  if (statSync(lock, { throwIfNoEntry: false }) === undefined) return false;
  const database = open(lock, { readOnly: true });
  try {
    database.prepare('SELECT count(*) FROM sqlite_schema').get();
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    throw error;
  } finally {
    database.close();
  }
}

function closeQuietly(database: Database): void {
  try {
    database.close();
  } catch {
    // The lock ends with the process at the latest.
  }
}

/** Returns `true` if SQLite gave up waiting for another connection to end its transaction. */
export function isBusy(error: unknown): boolean {
  return /locked|busy/i.test(`${reasonOf(error)} ${error instanceof Error ? error.message : ''}`);
}

function filesOfProcess(): Set<unknown> {
  const known: unknown = Reflect.get(globalThis, registry);
  if (known instanceof Set) return known;
  const created = new Set();
  Reflect.set(globalThis, registry, created);
  return created;
}
