import { closeSync, fstatSync, openSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { automaticCheckpoints, type Checkpoints, LogCheckpoints } from '../checkpoints/log-checkpoints.js';
import { type Database, loadDriver, moduleForThreads, type OpenDatabase } from './driver.js';
import { checkLength, guarded, numberOf, versionOf } from './file-checks.js';
import { awaitLock } from './file-lock.js';
import { FilePresence } from './file-presence.js';
import { applicationId, migrations } from './schema.js';

/** Database that this transport owns. */
export interface OwnedDatabase {
  /** Absolute path without symbolic links. */
  readonly path: string;
  readonly database: Database;
  readonly open: OpenDatabase;
  /** Throws if the file was deleted, replaced or truncated. */
  checkPresence(): void;
  readonly checkpoints: Checkpoints;
  /** Closes the database and releases its lock. */
  close(): Promise<void>;
}

/**
 * Opens or creates a file, locks it for this transport, and brings its schema up to date.
 *
 * @throws {FileInUseError | FileAccessError | CorruptFileError | NewerFileError | UnsupportedSqliteError}
 * @throws {MissingPackageError}
 */
export async function openOwned(file: string, synchronous: 'full' | 'normal'): Promise<OwnedDatabase> {
  const open = await loadDriver();
  const module = await moduleForThreads();
  const path = guarded(file, () => resolvePath(file));
  const lock = await awaitLock(path, open).catch((error: unknown) =>
    guarded(file, () => {
      throw error;
    }),
  );
  return guarded(file, () => {
    let descriptor: number | undefined;
    let database: Database | undefined;
    const release = (): void => {
      // To close the descriptor ends the locks of the database on the file.
      database?.close();
      if (descriptor !== undefined) closeSync(descriptor);
      lock.release();
    };
    try {
      descriptor = openSync(path, 'a+');
      checkLength(path, descriptor);
      const opened = open(path);
      database = opened;
      prepareDatabase(file, opened, synchronous);
      const presence = new FilePresence(path, descriptor);
      const checkpoints =
        module === undefined
          ? automaticCheckpoints(opened)
          : new LogCheckpoints(opened, { file: path, ino: fstatSync(descriptor).ino, module });
      return {
        path,
        database: opened,
        open,
        checkPresence: () => presence.check(),
        checkpoints,
        async close() {
          await checkpoints.close();
          emptyLog(opened);
          release();
        },
      };
    } catch (error) {
      release();
      throw error;
    }
  });
}

function prepareDatabase(file: string, database: Database, synchronous: 'full' | 'normal'): void {
  // Another process may write for a moment, such as a shell; to wait blocks the event loop.
  database.exec('PRAGMA busy_timeout = 100');
  const isNew = numberOf(database, 'PRAGMA page_count') === 0;
  // The setting has an effect before the first table only.
  if (isNew) database.exec('PRAGMA auto_vacuum = INCREMENTAL');
  const version = versionOf(file, database);
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}`);
  migrate(database, version);
  // The first transaction creates the log.
  database.exec('BEGIN IMMEDIATE; COMMIT');
}

function migrate(database: Database, version: number): void {
  if (version === migrations.length) return;
  database.exec('BEGIN IMMEDIATE');
  for (const step of migrations.slice(version)) database.exec(step);
  database.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${migrations.length}; COMMIT`);
}

function emptyLog(database: Database): void {
  try {
    // Not every driver ends prepared statements, and then the log would stay.
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch {
    // The next start reads the log.
  }
}

/** Returns the one path of a file, which every path to it has in common. */
function resolvePath(file: string): string {
  const isThere = statSync(file, { throwIfNoEntry: false }) !== undefined;
  return isThere ? realpathSync(file) : join(realpathSync(dirname(file)), basename(file));
}
