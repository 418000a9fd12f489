import { realpathSync, statSync } from 'node:fs';
import { CorruptFileError, OlderFileError } from '../sqlite-errors.js';
import { type Database, loadDriver } from './driver.js';
import { guarded, versionOf } from './file-checks.js';
import { isLocked } from './file-lock.js';
import { migrations } from './schema.js';

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
      const version = versionOf(file, database);
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
