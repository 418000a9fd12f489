import { open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { loadCopy } from './database/driver.js';
import { openObserved } from './database/open-observed.js';
import { FileAccessError } from './sqlite-errors.js';

/**
 * Copies a file, as it is at one time, while its owner continues.
 *
 * @param target path of the copy, which must not exist
 * @throws {FileAccessError | CorruptFileError | NewerFileError | UnsupportedSqliteError | MissingPackageError}
 */
export async function backUpFile(file: string, target: string): Promise<void> {
  const copy = await loadCopy();
  const { database, close } = await openObserved(file, { readOnly: true, allowsOlder: true });
  // Under another name until it is complete: part of a copy could pass for an empty file.
  const partial = `${target}-partial`;
  try {
    await checkAbsence(target);
    await rm(partial, { force: true });
    // The copy would begin again with each change that it sees.
    database.exec('BEGIN');
    database.prepare('SELECT count(*) FROM sqlite_schema').get();
    await copy(database, partial);
    // The log of the file cannot begin again before, and a slow disk takes long to have the copy.
    database.exec('COMMIT');
    await syncFile(partial);
    await rename(partial, target);
    await syncFile(dirname(target));
  } catch (error) {
    await rm(partial, { force: true }).catch(() => {});
    throw error instanceof FileAccessError ? error : new FileAccessError(target, error);
  } finally {
    close();
  }
}

async function checkAbsence(target: string): Promise<void> {
  const found = await stat(target).catch(() => undefined);
  if (found !== undefined) throw new FileAccessError(target, Object.assign(new Error('exists'), { code: 'EEXIST' }));
}

async function syncFile(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
