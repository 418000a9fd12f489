import { fstatSync, readSync, statSync } from 'node:fs';
import { HubError } from '../../../errors.js';
import { CorruptFileError, FileAccessError, NewerFileError, reasonOf } from '../sqlite-errors.js';
import type { Database } from './driver.js';
import { applicationId, migrations } from './schema.js';

/**
 * Checks of files before they are used.
 *
 * @module
 */

/**
 * Throws if the file is shorter than its header says. The log may contain the rest after a crash.
 *
 * @param descriptor descriptor of the file
 */
export function checkLength(path: string, descriptor: number): void {
  const logSize = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  const { size } = fstatSync(descriptor);
  if (logSize > 0 || size === 0) return;
  const header = Buffer.alloc(100);
  readSync(descriptor, header, 0, header.length, 0);
  if (size < (databaseSize(header) ?? 0)) throw new CorruptFileError(path, 'its end is missing');
}

/** Returns the size in bytes that the header of a database states; `undefined` if it is none. */
export function databaseSize(header: Buffer): number | undefined {
  if (!header.toString('latin1').startsWith('SQLite format 3')) return undefined;
  const pageSize = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
  return pageSize * header.readUInt32BE(28);
}

/** Returns the schema version of a file, 0 if it is empty. */
export function versionOf(file: string, database: Database): number {
  const version = numberOf(database, 'PRAGMA user_version');
  if (numberOf(database, 'PRAGMA application_id') !== applicationId) {
    const isEmpty = version === 0 && numberOf(database, 'SELECT count(*) FROM sqlite_schema') === 0;
    if (!isEmpty) throw new CorruptFileError(file, 'it is a database of another application');
  }
  if (version > migrations.length) throw new NewerFileError(file, version, migrations.length);
  return version;
}

/** Returns the number that a statement reads. */
export function numberOf(database: Database, sql: string): number {
  return Number(Object.values(database.prepare(sql).get() ?? {})[0]);
}

/** Opens something, and replaces an error of SQLite or of the operating system. */
export function guarded<T>(file: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (HubError.is(error)) throw error;
    const isDamaged = /not a database|malformed|corrupt/i.test(`${reasonOf(error)} ${String(error)}`);
    if (isDamaged) throw new CorruptFileError(file, `it is not a readable SQLite database`, { cause: error });
    throw new FileAccessError(file, error);
  }
}
