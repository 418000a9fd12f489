import { join } from 'node:path';
import { sqliteObserver } from 'hubline/sqlite';

const file = process.env['HUB_FILE'] ?? 'hub.db';

/** Copies the file under the date of the day, while hubs use it. */
export async function backUp(folder: string): Promise<string> {
  const path = join(folder, `hub-${new Date().toISOString().slice(0, 10)}.db`);
  await sqliteObserver({ file }).backup(path);
  return path;
}
