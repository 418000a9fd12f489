import { randomUUID } from 'node:crypto';
import { HubError } from '../../errors.js';
import { CheckedLog } from '../bounded-log.js';
import { Broker } from '../broker/broker.js';
import { BrokerManager } from '../broker/broker-manager.js';
import type { Clock } from '../clock.js';
import { CheckedKeyValueStore } from '../key-values.js';
import { describedService } from '../services.js';
import type { Logger, TransportManager } from '../transport.js';
import { CallServer, type CallTarget } from './calls.js';
import { type Commits, Committer } from './database/committer.js';
import type { Database } from './database/driver.js';
import { FileShrinker } from './database/file-shrinker.js';
import { openOwned } from './database/open-database.js';
import { CrashCounts } from './journal/crash-counts.js';
import { loadState } from './journal/load-state.js';
import { SqliteJournal } from './journal/sqlite-journal.js';
import { CorruptFileError, reasonOf, StoredValueError } from './sqlite-errors.js';
import { SqliteKeyValueStore } from './sqlite-key-value-store.js';
import { SqliteLog } from './sqlite-log.js';
import type { SqliteSettings } from './sqlite-options.js';
import { textOf } from './stored-values.js';

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
  readonly stores: Pick<TransportManager, 'kv' | 'log'>;
}

/** Open file with its state. */
export interface OpenStore {
  readonly broker: Broker;
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
    const { broker, journal, stores } = loadStore(file, database, committer, settings, true);
    committer.state = journal;
    journal.running = () => broker.running();
    const crashes = readable(file, () => new CrashCounts(database, journal, clock, settings.maxCrashes));
    // Without suspects, events cost no calls.
    if (crashes.hasSuspects) journal.crashes = crashes;
    const connect = (service: string): BrokerManager => new BrokerManager('sqlite', service, broker, stores);
    const hubs = new HubRows(database, broker);
    readable(file, () => hubs.restore(broker.connections));
    const targetOf = (service: string): CallTarget => ({ broker, manager: connect(service) });
    const calls = new CallServer(database, committer, logger, targetOf);
    await calls.open();
    const shrinker = new FileShrinker(database, committer, owned.checkpoints);
    return {
      broker,
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
 * @param isOwner no other process has the file
 * @throws {CorruptFileError}
 */
export function loadStore(
  file: string,
  database: Database,
  committer: Commits,
  settings: StoreLimits & { readonly clock: Clock },
  isOwner: boolean,
): LoadedStore {
  const { clock, maxPendingInMemory } = settings;
  return readable(file, () => {
    const journal = new SqliteJournal(database, committer, clock, lastNumbers(database), maxPendingInMemory);
    const broker = new Broker(clock, settings, journal);
    loadState(database, broker, journal, isOwner);
    const kv = new CheckedKeyValueStore(new SqliteKeyValueStore(database, committer, clock));
    return { broker, journal, stores: { kv, log: new CheckedLog(new SqliteLog(database, committer, clock)) } };
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

/** Open file of a transport, which all its connections share. The first user opens it, and the last one closes it. */
export class SharedStore {
  readonly #settings: SqliteSettings;
  #opened: Promise<OpenStore> | undefined;
  #store: OpenStore | undefined;
  #users = 0;
  #closing: Promise<void> = Promise.resolve();

  constructor(settings: SqliteSettings) {
    this.#settings = settings;
  }

  /** Returns the open file; each user calls `release` at the end. */
  async acquire(logger: Logger): Promise<OpenStore> {
    this.#users += 1;
    this.#opened ??= this.#closing.then(() => openStore(this.#settings, logger));
    const opened = this.#opened;
    try {
      const store = await opened;
      this.#store = store;
      return store;
    } catch (error) {
      // The next user tries to open it again.
      if (this.#opened === opened) this.#opened = undefined;
      this.#users -= 1;
      throw error;
    }
  }

  /** Resolves when the file is closed if this was the last user. */
  async release(): Promise<void> {
    this.#users -= 1;
    if (this.#users > 0) return;
    const store = this.#store;
    this.#opened = undefined;
    this.#store = undefined;
    if (store === undefined) return;
    const closing = store.close();
    this.#closing = closing.catch(() => {});
    await closing;
  }
}

// Ends the owner of a hub without subscriptions.
const idleMark = ' without subscriptions';

interface HubRow {
  readonly id: number;
  readonly owner: string;
  readonly isConsumer: boolean;
  readonly description: string;
  readonly service: string | undefined;
}

/** Stored descriptions of the hubs that used a file last: per service those of its last process. */
export class HubRows {
  readonly #database: Database;
  readonly #broker: Pick<Broker, 'isSubscribed'>;
  readonly #owner: string = randomUUID();

  constructor(database: Database, broker: Pick<Broker, 'isSubscribed'>) {
    this.#database = database;
    this.#broker = broker;
  }

  /** Stores the description of a hub of this process in place of those that it makes obsolete. */
  store(description: string, isConsumer: boolean): void {
    const owner = isConsumer ? this.#owner : this.#owner + idleMark;
    const service = describedService(description);
    const isObsolete = (row: HubRow): boolean =>
      row.owner.startsWith(this.#owner)
        ? row.owner === owner && row.description === description
        : !row.isConsumer || (row.service === service ? isConsumer : !this.#isSubscribed(row));
    const remove = this.#database.prepare('DELETE FROM hubs WHERE id = ?');
    for (const row of this.#rows().filter(isObsolete)) remove.run(row.id);
    this.#database.prepare('INSERT INTO hubs (owner, description) VALUES (?, ?)').run(owner, description);
  }

  /** Adds those with subscriptions to the connections of a broker. */
  restore(connections: Pick<Broker['connections'], 'restore'>): void {
    for (const { service, description, isConsumer } of this.#rows()) {
      if (isConsumer && service !== undefined) connections.restore(service, description);
    }
  }

  /** Adds all of them, for a process that only reads the file. */
  restoreAll(connections: Pick<Broker['connections'], 'restore' | 'restoreIdle'>): void {
    this.restore(connections);
    for (const { description, isConsumer } of this.#rows()) if (!isConsumer) connections.restoreIdle(description);
  }

  #isSubscribed({ service }: HubRow): boolean {
    return service !== undefined && this.#broker.isSubscribed(service);
  }

  #rows(): readonly HubRow[] {
    const rows = this.#database.prepare('SELECT id, owner, description FROM hubs ORDER BY id').all();
    return rows.map((row) => {
      const [owner, description] = [textOf(row, 'owner'), textOf(row, 'description')];
      return {
        id: Number(row['id']),
        owner,
        isConsumer: !owner.endsWith(idleMark),
        description,
        service: describedService(description),
      };
    });
  }
}
