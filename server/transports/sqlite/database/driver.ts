import { createRequire } from 'node:module';
import { MissingPackageError } from '../../errors.js';
import { UnsupportedSqliteError } from '../sqlite-errors.js';

/** Value that a statement binds. */
export type SqlValue = string | number | null;

/** Row of a result, not checked. */
export type Row = Readonly<Record<string, unknown>>;

/** Prepared statement. */
export interface Statement {
  run(...values: readonly SqlValue[]): unknown;
  get(...values: readonly SqlValue[]): Row | undefined;
  all(...values: readonly SqlValue[]): readonly Row[];
  iterate(...values: readonly SqlValue[]): Iterable<Row>;
}

/** Open database: the part of `DatabaseSync` that the transport uses. */
export interface Database {
  readonly isTransaction: boolean;
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}

/** Copies an open database to a file, in another thread. */
export type CopyDatabase = (database: Database, file: string) => Promise<unknown>;

/** Opens a database. */
export type OpenDatabase = (file: string, options?: { readonly readOnly?: boolean }) => Database;

// Pages of 4 KiB; the disk has other work between two steps.
const pagesPerStep = 256;

interface SqliteModule {
  readonly DatabaseSync: new (file: string, options?: { readonly readOnly?: boolean }) => Database;
  readonly backup: (database: never, file: string, options?: { readonly rate?: number }) => Promise<unknown>;
}

/** Loads the function that opens databases. @throws {MissingPackageError | UnsupportedSqliteError} */
export async function loadDriver(): Promise<OpenDatabase> {
  return openerOf(await loadModule());
}

/**
 * Returns the module of the SQLite that {@link loadDriver} loads, as `require` of another thread takes it; `undefined`
 * if other threads cannot load it, or if its version does not tell the size of the log.
 */
export async function moduleForThreads(): Promise<string | undefined> {
  const sqlite = await loadModule();
  // Other runtimes differ in threads with native code.
  if (process.versions['bun'] !== undefined || process.versions['deno'] !== undefined) return undefined;
  const [major = 0, minor = 0] = sqliteVersion(sqlite).split('.').map(Number);
  if (major === 3 && minor < 51) return undefined;
  if (sqlite === builtInModule()) return 'node:sqlite';
  try {
    return createRequire(import.meta.url).resolve('@photostructure/sqlite');
  } catch {
    return undefined;
  }
}

/** Loads the function that copies databases. @throws {MissingPackageError | UnsupportedSqliteError} */
export async function loadCopy(): Promise<CopyDatabase> {
  const { backup } = await loadModule();
  // The module opened the database itself.
  return (database, file) => backup(database as never, file, { rate: pagesPerStep });
}

/**
 * Loads the SQLite of Node if it is fixed, else `@photostructure/sqlite`, an optional dependency.
 *
 * @throws {MissingPackageError | UnsupportedSqliteError}
 */
async function loadModule(): Promise<SqliteModule> {
  const builtIn = builtInModule();
  const builtInVersion = builtIn && sqliteVersion(builtIn);
  if (builtIn !== undefined && builtInVersion !== undefined && isSafeSqlite(builtInVersion)) return builtIn;
  let installed: SqliteModule;
  try {
    installed = await import('@photostructure/sqlite');
  } catch (cause) {
    if (builtInVersion !== undefined) throw new UnsupportedSqliteError(builtInVersion);
    throw new MissingPackageError('sqliteTransport', packageFor(process.versions.node), cause);
  }
  const version = sqliteVersion(installed);
  if (!isSafeSqlite(version)) throw new UnsupportedSqliteError(version);
  return installed;
}

/** Returns the package to install for a version of Node: version 1.2 is the last one for Node 20. */
export function packageFor(node: string): string {
  return `@photostructure/sqlite@${Number.parseInt(node, 10) < 22 ? '1.2' : '2'}`;
}

/** Returns `true` if a version of SQLite has the fix for the reset of the write-ahead log. */
export function isSafeSqlite(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  if (major !== 3) return major > 3;
  if (minor === 44) return patch >= 6;
  if (minor === 50) return patch >= 7;
  if (minor === 51) return patch >= 3;
  return minor > 51;
}

function openerOf({ DatabaseSync }: SqliteModule): OpenDatabase {
  return (file, options = {}) => new DatabaseSync(file, options);
}

function builtInModule(): SqliteModule | undefined {
  const found: unknown = process.getBuiltinModule?.('node:sqlite');
  // The types of the oldest supported Node do not have the module.
  return found === undefined ? undefined : (found as SqliteModule);
}

function sqliteVersion({ DatabaseSync }: SqliteModule): string {
  const database = new DatabaseSync(':memory:');
  try {
    return String(database.prepare('SELECT sqlite_version() AS version').get()?.['version']);
  } finally {
    database.close();
  }
}
