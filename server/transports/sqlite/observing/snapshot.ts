import type { Clock } from '../../clock.js';
import { BrokerManager } from '../../memory/memory-transport.js';
import { periodKinds, periodOf } from '../../statistics/periods.js';
import type { CallTarget } from '../calls/call-methods.js';
import type { Commits } from '../commits.js';
import type { Database } from '../database/driver.js';
import { HubRows } from '../database/hub-rows.js';
import { type ObservedDatabase, openObserved } from '../database/open-observed.js';
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

/** Loaded state of a file. */
interface LoadedFile {
  readonly observed: ObservedDatabase;
  readonly target: CallTarget;
  /** Number that changes with each change of the file by another connection. */
  readonly version: unknown;
  /** Minute in which the state was loaded. */
  readonly minute: number;
}

/** State of a file that no transport owns. It is loaded again when the file has changed. */
export class FileSnapshot {
  readonly #file: string;
  readonly #service: string;
  readonly #clock: Clock;
  #loaded: LoadedFile | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(file: string, service: string, clock: Clock) {
    this.#file = file;
    this.#service = service;
    this.#clock = clock;
  }

  /**
   * Reads the state as it is at one time.
   *
   * @throws {FileAccessError | CorruptFileError | NewerFileError | OlderFileError} if the file cannot be used
   */
  read<T>(read: (target: CallTarget) => Promise<T>): Promise<T> {
    return this.#inTurn(() => this.#readNow(read));
  }

  /** Closes the file, and forgets the state. */
  close(): Promise<void> {
    return this.#inTurn(async () => this.#drop());
  }

  /** Calls `use` after the calls before it: a connection has one transaction at a time. */
  #inTurn<T>(use: () => Promise<T>): Promise<T> {
    const result = this.#last.then(use);
    this.#last = result.catch(() => {});
    return result;
  }

  async #readNow<T>(read: (target: CallTarget) => Promise<T>): Promise<T> {
    let loaded: LoadedFile;
    try {
      loaded = this.#beginCurrent() ?? (await this.#load());
    } catch (error) {
      this.#drop();
      throw error;
    }
    try {
      return await read(loaded.target);
    } finally {
      loaded.observed.database.exec('ROLLBACK');
    }
  }

  /** Begins a transaction if the file still has the loaded state. */
  #beginCurrent(): LoadedFile | undefined {
    const loaded = this.#loaded;
    // With time, delayed events become due.
    if (loaded === undefined || loaded.minute !== this.#minute() || !loaded.observed.isPresent()) return undefined;
    const { database } = loaded.observed;
    database.exec('BEGIN');
    return versionOf(database) === loaded.version ? loaded : undefined;
  }

  /** Loads the state, and begins a transaction. */
  async #load(): Promise<LoadedFile> {
    this.#drop();
    // A later version of the package may have changed the schema.
    const observed = await openObserved(this.#file, { readOnly: true });
    try {
      const { database } = observed;
      // The values that are read later are those of the same time.
      database.exec('BEGIN');
      const version = versionOf(database);
      const minute = this.#minute();
      const settings = { ...noLimits, clock: this.#clock };
      const { broker, kv } = loadStore(this.#file, database, frozenOf(this.#file), settings);
      const hubs = new HubRows(database, broker);
      const manager = new BrokerManager('sqlite', broker, kv, broker.group(this.#service));
      const target = { broker, kv, manager, descriptions: () => hubs.stopped() };
      this.#loaded = { observed, target, version, minute };
      return this.#loaded;
    } catch (error) {
      observed.close();
      throw error;
    }
  }

  #drop(): void {
    this.#loaded?.observed.close();
    this.#loaded = undefined;
  }

  #minute(): number {
    return periodOf(this.#clock.now(), periodKinds.minutes);
  }
}

function versionOf(database: Database): unknown {
  return database.prepare('PRAGMA data_version').get()?.['data_version'];
}
