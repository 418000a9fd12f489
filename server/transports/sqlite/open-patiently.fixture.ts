import { type Database, loadDriver } from './database/driver.js';

/**
 * Opens a file that other connections use. The caller closes it.
 *
 * A connection that begins, ends or copies the log holds locks for a moment, and each other connection has to wait.
 */
export async function openPatiently(file: string, options: { readonly readOnly?: boolean } = {}): Promise<Database> {
  const open = await loadDriver();
  const database = open(file, options);
  database.exec('PRAGMA busy_timeout = 30000');
  return database;
}
