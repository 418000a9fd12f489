import type { Clock } from '../../clock.js';
import { BrokerManager } from '../../memory/memory-transport.js';
import type { CallTarget } from '../calls/call-methods.js';
import type { Commits } from '../committer.js';
import type { Database } from '../database/driver.js';
import { openObserved } from '../database/open-observed.js';
import { textOf } from '../loading/stored-values.js';
import { FileObserverError, unreadable } from '../sqlite-errors.js';
import { loadStore, noLimits } from '../sqlite-store.js';

const refused = (): Promise<never> => Promise.reject(new FileObserverError('change'));

/** Stores nothing. */
const frozenOf = (file: string): Commits => ({
  isStored: false,
  change: refused,
  settle: () => new Promise(() => {}),
  settleLater() {},
  write: refused,
  afterStored() {},
  suspend() {},
  resume() {},
  reportDamage() {},
  unreadable: (error) => unreadable(file, error),
});

/** Reads the state of a file that no transport owns, as it is at one time. */
export async function readSnapshot<T>(
  file: string,
  service: string,
  clock: Clock,
  read: (target: CallTarget) => Promise<T>,
): Promise<T> {
  const { database, close } = await openObserved(file, { readOnly: true });
  try {
    // The values that are read later are those of the same time.
    database.exec('BEGIN');
    const { broker, kv } = loadStore(file, database, frozenOf(file), { ...noLimits, clock });
    const manager = new BrokerManager('sqlite', broker, kv, broker.group(service));
    return await read({ broker, kv, manager, descriptions: () => formerHubs(database) });
  } finally {
    close();
  }
}

/** Returns the descriptions of the hubs that used the file last. */
function formerHubs(database: Database): readonly string[] {
  const rows = database.prepare('SELECT description FROM hubs ORDER BY id').all();
  return rows.map((row) => JSON.stringify({ ...JSON.parse(textOf(row, 'description')), isStopped: true }));
}
