import { closeSync, fstatSync, openSync, readSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { HubError } from '../../../errors.js';
import { CorruptFileError, FileAccessError, NewerFileError, OlderFileError, reasonOf } from '../sqlite-errors.js';
import { type Database, loadDriver, moduleForThreads, type OpenDatabase } from './driver.js';
import { awaitLock, isLocked } from './file-lock.js';
import { automaticCheckpoints, type Checkpoints, LogCheckpoints } from './log-checkpoints.js';
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
  const isNew = readNumber(database, 'PRAGMA page_count') === 0;
  // The setting has an effect before the first table only.
  if (isNew) database.exec('PRAGMA auto_vacuum = INCREMENTAL');
  const version = schemaVersion(file, database);
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
 * @param options `readOnly`: the connection only reads; `allowsOlder`: the file may have an earlier schema version
 * @throws {FileAccessError | CorruptFileError | NewerFileError | OlderFileError | UnsupportedSqliteError}
 * @throws {MissingPackageError}
 */
export async function openObserved(
  file: string,
  { readOnly, allowsOlder = false }: { readonly readOnly: boolean; readonly allowsOlder?: boolean },
): Promise<ObservedDatabase> {
  const open = await loadDriver();
  return guarded(file, () => {
    const path = realpathSync(file);
    const { ino, size } = statSync(path);
    if (size === 0 && statSync(`${path}-wal`, { throwIfNoEntry: false }) === undefined) {
      throw new CorruptFileError(file, 'it is empty');
    }
    const database = open(path, { readOnly });
    try {
      // The owner writes for a moment only.
      database.exec('PRAGMA busy_timeout = 1000');
      const version = schemaVersion(file, database);
      if (version < migrations.length && !allowsOlder) throw new OlderFileError(file, version, migrations.length);
      // A call need not survive a power loss, but the log that the last connection copies into the file must. The owner
      // copies it otherwise. A caller that has to wait tries again: SQLite would block its event loop.
      const settings = 'PRAGMA busy_timeout = 100; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0';
      if (!readOnly) database.exec(settings);
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

/**
 * Throws if the file is shorter than its header says. The log may contain the rest after a crash.
 *
 * @param descriptor descriptor of the file
 */
function checkLength(path: string, descriptor: number): void {
  const logSize = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  const { size } = fstatSync(descriptor);
  if (logSize > 0 || size === 0) return;
  const header = Buffer.alloc(100);
  readSync(descriptor, header, 0, header.length, 0);
  if (size < (databaseSize(header) ?? 0)) throw new CorruptFileError(path, 'its end is missing');
}

/** Returns the size in bytes that the header of a database states; `undefined` if it is none. */
function databaseSize(header: Buffer): number | undefined {
  if (!header.toString('latin1').startsWith('SQLite format 3')) return undefined;
  const pageSize = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
  return pageSize * header.readUInt32BE(28);
}

/** Returns the schema version of a file, 0 if it is empty. */
function schemaVersion(file: string, database: Database): number {
  const version = readNumber(database, 'PRAGMA user_version');
  if (readNumber(database, 'PRAGMA application_id') !== applicationId) {
    const isEmpty = version === 0 && readNumber(database, 'SELECT count(*) FROM sqlite_schema') === 0;
    if (!isEmpty) throw new CorruptFileError(file, 'it is a database of another application');
  }
  if (version > migrations.length) throw new NewerFileError(file, version, migrations.length);
  return version;
}

/** Returns the number that a statement reads. */
export function readNumber(database: Database, sql: string): number {
  return Number(Object.values(database.prepare(sql).get() ?? {})[0]);
}

/** Opens something, and replaces an error of SQLite or of the operating system. */
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

/** Detects that another program moved, deleted or shortened an open file or its log. */
class FilePresence {
  readonly #files: readonly { readonly path: string; readonly ino: number }[];
  readonly #path: string;
  readonly #descriptor: number;
  #size: number;

  /** @param descriptor descriptor of the file, which stays open as long as the database */
  constructor(path: string, descriptor: number) {
    this.#path = path;
    this.#descriptor = descriptor;
    this.#files = [path, `${path}-wal`].map((each) => ({ path: each, ino: statSync(each).ino }));
    this.#size = statSync(path).size;
  }

  /** @throws {FileGoneError} if what is written would be lost at the next start */
  check(): void {
    for (const { path, ino } of this.#files) {
      if (statSync(path, { throwIfNoEntry: false })?.ino !== ino) throw new FileGoneError('deleted or replaced');
    }
    const { size } = statSync(this.#path);
    // SQLite itself shortens the file after it has written the new size into the header.
    if (size < this.#size && size < this.#sizeInHeader()) throw new FileGoneError('truncated');
    this.#size = size;
  }

  #sizeInHeader(): number {
    const header = Buffer.alloc(100);
    readSync(this.#descriptor, header, 0, header.length, 0);
    return databaseSize(header) ?? Number.POSITIVE_INFINITY;
  }
}

class FileGoneError extends Error {
  constructor(change: string) {
    super(`the file was ${change}`);
    this.name = 'FileGoneError';
  }
}
