import { HubError } from '../../errors.js';
import { CheckedKeyValueStore } from '../checked-key-value-store.js';
import type { KeyValueStore } from '../key-value-store.js';
import type { Logger } from '../logger.js';
import { Broker } from '../memory/broker.js';
import { Committer } from './committer.js';
import type { Database } from './database/driver.js';
import { openOwned } from './database/open-database.js';
import { SqliteJournal } from './journal/sqlite-journal.js';
import { loadState } from './loading/load-state.js';
import { StoredValueError } from './loading/stored-values.js';
import { CorruptFileError, reasonOf } from './sqlite-errors.js';
import { SqliteKeyValueStore } from './sqlite-key-value-store.js';
import type { SqliteSettings } from './sqlite-options.js';

/** Open file with its state. */
export interface OpenStore {
  readonly broker: Broker;
  readonly kv: KeyValueStore;
  close(): void;
}

/** Opens the file and loads its state. */
export async function openStore(settings: SqliteSettings, logger: Logger): Promise<OpenStore> {
  const { file, synchronous, clock } = settings;
  const owned = await openOwned(file, synchronous);
  const { database } = owned;
  try {
    const committer = new Committer(owned, clock, logger);
    const journal = new SqliteJournal(database, committer, clock, lastNumbers(database));
    committer.state = journal;
    const broker = new Broker(clock, settings, journal);
    loadState(database, broker, journal);
    return {
      broker,
      kv: new CheckedKeyValueStore(new SqliteKeyValueStore(database, committer, clock)),
      close() {
        journal.close();
        committer.close();
        owned.close();
      },
    };
  } catch (error) {
    owned.close();
    if (HubError.is(error)) throw error;
    const problem = error instanceof StoredValueError ? error.message : `it cannot be read (${reasonOf(error)})`;
    throw new CorruptFileError(file, problem, { cause: error });
  }
}

function lastNumbers(database: Database): { position: number; number: number; end: number } {
  const read = (sql: string): number => Number(database.prepare(sql).get()?.['last'] ?? 0);
  return {
    position: read('SELECT max(position) AS last FROM events'),
    number: read('SELECT max(number) AS last FROM checkpoints'),
    end: Math.max(
      read(`SELECT max(json_extract(dead_letter, '$.endOrder')) AS last FROM events`),
      read(`SELECT max(json_extract(run, '$.endOrder')) AS last FROM events`),
    ),
  };
}
