import { closeSync, openSync, readSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { HubError } from '../../../errors.js';
import { CorruptFileError, FileAccessError, NewerFileError, OlderFileError, reasonOf } from '../sqlite-errors.js';
import { type Database, loadDriver, type OpenDatabase } from './driver.js';
import { isLocked, lockFile } from './file-lock.js';
import { applicationId, migrations } from './schema.js';

/** Database that this transport owns. */
export interface OwnedDatabase {
  /** Absolute path without symbolic links. */
  readonly path: string;
  readonly database: Database;
  readonly open: OpenDatabase;
  /** Throws if the path no longer leads to the open file. */
  checkPresence(): void;
  /** Closes the database and releases its lock. */
  close(): void;
}

/**
 * Opens or creates a file, locks it for this transport, and brings its schema up to date.
 *
 * @throws {FileInUseError | FileAccessError | CorruptFileError | NewerFileError | UnsupportedSqliteError}
 * @throws {MissingPackageError}
 */
export async function openOwned(file: string, synchronous: 'full' | 'normal'): Promise<OwnedDatabase> {
  const open = await loadDriver();
  return guarded(file, () => {
    const path = resolvePath(file);
    const lock = lockFile(path, open);
    let database: Database | undefined;
    try {
      checkLength(path);
      const opened = open(path);
      database = opened;
      prepareDatabase(file, opened, synchronous);
      const { ino } = statSync(path);
      return {
        path,
        database: opened,
        open,
        checkPresence() {
          if (statSync(path, { throwIfNoEntry: false })?.ino !== ino) throw new FileGoneError();
        },
        close() {
          closeDatabase(opened);
          lock.release();
        },
      };
    } catch (error) {
      database?.close();
      lock.release();
      throw error;
    }
  });
}

/** Database that another transport may own. */
export interface ObservedDatabase {
  readonly database: Database;
  /** A transport owns the file now. */
  isOwned(): boolean;
  /** The path leads to the open file. */
  isPresent(): boolean;
  close(): void;
}

/**
 * Opens an existing file that another transport may own.
 *
 * @param options `readOnly`: the connection only reads
 * @throws {FileAccessError | CorruptFileError | NewerFileError | OlderFileError | UnsupportedSqliteError}
 * @throws {MissingPackageError}
 */
export async function openObserved(file: string, options: { readonly readOnly: boolean }): Promise<ObservedDatabase> {
  const open = await loadDriver();
  return guarded(file, () => {
    const path = realpathSync(file);
    const { ino, size } = statSync(path);
    if (size === 0 && statSync(`${path}-wal`, { throwIfNoEntry: false }) === undefined) {
      throw new CorruptFileError(file, 'it is empty');
    }
    const database = open(path, options);
    try {
      // The owner writes for a moment only.
      database.exec('PRAGMA busy_timeout = 1000');
      const version = versionOf(file, database);
      if (version < migrations.length) throw new OlderFileError(file, version, migrations.length);
      // A call need not survive a power loss, but the log that the last connection copies into the file must. The owner
      // copies it otherwise.
      if (!options.readOnly) database.exec('PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0');
    } catch (error) {
      database.close();
      throw error;
    }
    return {
      database,
      isOwned: () => isLocked(path, open),
      isPresent: () => statSync(path, { throwIfNoEntry: false })?.ino === ino,
      close: () => database.close(),
    };
  });
}

/** Throws if the file is shorter than its header says. The log may contain the rest after a crash. */
function checkLength(path: string): void {
  const logSize = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (logSize > 0 || size === 0) return;
  const header = Buffer.alloc(100);
  const descriptor = openSync(path, 'r');
  try {
    readSync(descriptor, header, 0, header.length, 0);
  } finally {
    closeSync(descriptor);
  }
  if (!header.toString('latin1').startsWith('SQLite format 3')) return;
  const pageSize = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
  if (size < pageSize * header.readUInt32BE(28)) throw new CorruptFileError(path, 'its end is missing');
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
}

/** Returns the schema version of a file, 0 if it is empty. */
function versionOf(file: string, database: Database): number {
  const version = numberOf(database, 'PRAGMA user_version');
  if (numberOf(database, 'PRAGMA application_id') !== applicationId) {
    const isEmpty = version === 0 && numberOf(database, 'SELECT count(*) FROM sqlite_schema') === 0;
    if (!isEmpty) throw new CorruptFileError(file, 'it is a database of another application');
  }
  if (version > migrations.length) throw new NewerFileError(file, version, migrations.length);
  return version;
}

function migrate(database: Database, version: number): void {
  if (version === migrations.length) return;
  database.exec('BEGIN IMMEDIATE');
  for (const step of migrations.slice(version)) database.exec(step);
  database.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${migrations.length}; COMMIT`);
}

function numberOf(database: Database, sql: string): number {
  return Number(Object.values(database.prepare(sql).get() ?? {})[0]);
}

function closeDatabase(database: Database): void {
  try {
    // Not every driver ends prepared statements, and then the log would stay.
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch {
    // The next start reads the log.
  }
  database.close();
}

/** The file was deleted or replaced while it was open: what is written to it would be lost at the next start. */
class FileGoneError extends Error {
  constructor() {
    super('the file was deleted or replaced');
    this.name = 'FileGoneError';
  }
}

/** Returns the one path of a file, which every path to it has in common. */
function resolvePath(file: string): string {
  const isThere = statSync(file, { throwIfNoEntry: false }) !== undefined;
  return isThere ? realpathSync(file) : join(realpathSync(dirname(file)), basename(file));
}

function guarded<T>(file: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (HubError.is(error)) throw error;
    const isDamaged = /not a database|malformed|corrupt/i.test(`${reasonOf(error)} ${String(error)}`);
    if (isDamaged) throw new CorruptFileError(file, `it is not a readable SQLite database`, { cause: error });
    throw new FileAccessError(file, error);
  }
}
