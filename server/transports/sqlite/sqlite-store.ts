import { HubError } from '../../errors.js';
import type { Clock } from '../clock.js';
import { CheckedKeyValueStore } from '../key-values/checked-key-value-store.js';
import type { KeyValueStore } from '../key-values/key-value-store.js';
import type { Logger } from '../logger.js';
import { Broker } from '../memory/broker.js';
import { BrokerManager } from '../memory/memory-transport.js';
import type { CallTarget } from './calls/call-methods.js';
import { CallServer } from './calls/call-server.js';
import { FileShrinker } from './checkpoints/file-shrinker.js';
import type { Commits } from './commits.js';
import { Committer } from './committer.js';
import { CrashCounts } from './crash-counts.js';
import type { Database } from './database/driver.js';
import { HubRows } from './database/hub-rows.js';
import { openOwned } from './database/open-database.js';
import { SqliteJournal } from './journal/sqlite-journal.js';
import { loadState } from './loading/load-state.js';

import { CorruptFileError, reasonOf, StoredValueError } from './sqlite-errors.js';
import { SqliteKeyValueStore } from './sqlite-key-value-store.js';
import type { SqliteSettings } from './sqlite-options.js';

/** Limits of the state of a file. */
export type StoreLimits = Pick<
  SqliteSettings,
  'maxPending' | 'maxPendingBytes' | 'maxPendingInMemory' | 'maxCrashes' | 'maxDeadLetters' | 'maxDeadLetterAgeMs'
>;

/** Limits that evict nothing: the process that owns the file has its own. */
export const noLimits: StoreLimits = {
  maxPending: Number.POSITIVE_INFINITY,
  maxPendingBytes: Number.POSITIVE_INFINITY,
  // Events that are in the file alone are read from there.
  maxPendingInMemory: Number.POSITIVE_INFINITY,
  maxCrashes: Number.POSITIVE_INFINITY,
  maxDeadLetters: Number.POSITIVE_INFINITY,
  maxDeadLetterAgeMs: Number.POSITIVE_INFINITY,
};

/** State of a file. */
export interface LoadedStore {
  readonly broker: Broker;
  readonly journal: SqliteJournal;
  readonly kv: KeyValueStore;
}

/** Open file with its state. */
export interface OpenStore extends Omit<LoadedStore, 'journal'> {
  /** Returns the connection of a service. */
  connect(service: string): BrokerManager;
  /** Stores the description of a hub, which is shown when it has ended. */
  describe(description: string, isConsumer: boolean): Promise<void>;
  /** Handlers may run from the next transaction on. */
  beginHandling(): void;
  close(): Promise<void>;
}

/** Opens the file and loads its state. */
export async function openStore(settings: SqliteSettings, logger: Logger): Promise<OpenStore> {
  const { file, synchronous, clock } = settings;
  const owned = await openOwned(file, synchronous);
  const { database } = owned;
  try {
    const committer = new Committer(owned, clock, logger);
    const { broker, journal, kv } = loadStore(file, database, committer, settings);
    committer.state = journal;
    const crashes = readable(file, () => new CrashCounts(database, journal, clock, settings.maxCrashes));
    // Without suspects, events cost no calls.
    if (crashes.hasSuspects) journal.crashes = crashes;
    const connect = (service: string): BrokerManager => new BrokerManager('sqlite', broker, kv, broker.group(service));
    const hubs = new HubRows(database, broker);
    readable(file, () => hubs.restore(broker));
    const descriptions = (): readonly string[] => broker.descriptions();
    const targetOf = (service: string): CallTarget => ({ broker, kv, manager: connect(service), descriptions });
    const calls = new CallServer(database, committer, logger, targetOf);
    await calls.open();
    const shrinker = new FileShrinker(database, committer, owned.checkpoints);
    return {
      broker,
      kv,
      connect,
      beginHandling: () => crashes.began(),
      describe: (description, isConsumer) => committer.write(() => hubs.store(description, isConsumer)),
      async close() {
        calls.close();
        shrinker.close();
        journal.close();
        crashes.ended();
        committer.close();
        await owned.close();
      },
    };
  } catch (error) {
    await owned.close();
    throw error;
  }
}

/**
 * Loads the state of a file.
 *
 * @param committer stores what changes
 * @throws {CorruptFileError}
 */
export function loadStore(
  file: string,
  database: Database,
  committer: Commits,
  settings: StoreLimits & { readonly clock: Clock },
): LoadedStore {
  const { clock, maxPendingInMemory } = settings;
  return readable(file, () => {
    const journal = new SqliteJournal(database, committer, clock, lastNumbers(database), maxPendingInMemory);
    const broker = new Broker(clock, settings, journal);
    loadState(database, broker, journal);
    return { broker, journal, kv: new CheckedKeyValueStore(new SqliteKeyValueStore(database, committer, clock)) };
  });
}

/** @throws {CorruptFileError} if what `read` reads is damaged */
function readable<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (HubError.is(error)) throw error;
    const problem = error instanceof StoredValueError ? error.message : `it cannot be read (${reasonOf(error)})`;
    throw new CorruptFileError(file, problem, { cause: error });
  }
}

function lastNumbers(database: Database): { position: number; number: number; end: number } {
  const read = (sql: string): number => Number(database.prepare(sql).get()?.['last'] ?? 0);
  return {
    position: Math.max(
      read('SELECT max(position) AS last FROM events'),
      read('SELECT max(position) AS last FROM spilled_events'),
      read('SELECT max(turn) AS last FROM spilled_events'),
      // An event that is accepted later is no suspect.
      read('SELECT suspects_until AS last FROM crash_state'),
    ),
    number: read('SELECT max(number) AS last FROM checkpoints'),
    end: Math.max(
      read(`SELECT max(json_extract(dead_letter, '$.endOrder')) AS last FROM events`),
      read(`SELECT max(json_extract(run, '$.endOrder')) AS last FROM events`),
    ),
  };
}
