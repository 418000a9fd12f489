import { setTimeout as delay } from 'node:timers/promises';
import { quote } from '../../errors.js';
import { BrokerManager } from '../broker/broker-manager.js';
import type { Clock } from '../clock.js';
import { TransportUnavailableError } from '../errors.js';
import type { PartCall } from '../parts.js';
import { periodKinds, periodOf } from '../statistics/periods.js';
import type { Logger } from '../transport.js';
import {
  CallTable,
  type CallTarget,
  decodeAnswer,
  encodeCall,
  executeCall,
  isChange,
  methodOf,
  type OperationArguments,
  type OperationName,
  type OperationResult,
} from './calls.js';
import type { Commits } from './database/committer.js';
import type { Database } from './database/driver.js';
import { isBusy } from './database/file-lock.js';
import { type ObservedDatabase, openObserved } from './database/open-database.js';
import { FileAccessError, FileInUseError, FileObserverError, unreadable } from './sqlite-errors.js';
import { HubRows, loadStore, noLimits, openStore } from './sqlite-store.js';

/** Settings of a {@link FileLink}. */
export interface LinkSettings {
  readonly file: string;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

const firstPollMs = 2;
const maxPollMs = 50;
const presenceIntervalMs = 500;

/** Open connection for calls. */
interface Connection {
  readonly observed: ObservedDatabase;
  readonly table: CallTable;
}

/**
 * Way of one service to the state of a file: calls to the process that owns the file. If none does, reads come from the
 * file, and a change owns the file for its duration.
 */
export class FileLink {
  readonly #settings: LinkSettings;
  readonly #service: string;
  readonly #logger: Logger;
  readonly #snapshot: FileSnapshot;
  #connection: Promise<Connection> | undefined;

  constructor(settings: LinkSettings, service: string, logger: Logger) {
    this.#settings = settings;
    this.#service = service;
    this.#logger = logger;
    this.#snapshot = new FileSnapshot(settings.file, service, settings.clock);
  }

  /**
   * Executes an operation.
   *
   * @throws {TransportUnavailableError} if the owner does not answer in time
   * @throws {FileAccessError | CorruptFileError | NewerFileError | OlderFileError} if the file cannot be used
   */
  async call<N extends OperationName>(operation: N, ...args: OperationArguments<N>): Promise<OperationResult<N>> {
    // The answer is the result of the operation: see `executeCall`.
    return (await this.#call(operation, args)) as OperationResult<N>;
  }

  /** Calls a method of a part of the transport. @throws as {@link call} */
  callPart(call: PartCall, args: readonly unknown[]): Promise<unknown> {
    // As JSON it would be `null`.
    return this.#call(methodOf(call), args.slice(0, args.findLastIndex((arg) => arg !== undefined) + 1));
  }

  /** Opens the file. @throws as {@link call} */
  async open(): Promise<void> {
    await this.#connect();
  }

  async close(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    (await connection?.catch(() => undefined))?.observed.close();
    await this.#snapshot.close();
  }

  async #call(method: string, args: readonly unknown[]): Promise<unknown> {
    for (;;) {
      const connection = await this.#connect();
      if (connection.observed.isOwned()) {
        await this.#snapshot.close();
        const answer = await this.#ask(connection, method, args);
        if (answer !== undefined) return decodeAnswer(answer);
      } else if (isChange(method)) {
        try {
          return await this.#own(method, args);
        } catch (error) {
          // Its owner has just started.
          if (!(error instanceof FileInUseError)) throw error;
        }
      } else {
        return await this.#snapshot.read((target) => executeCall(target, method, args));
      }
    }
  }

  /** Returns the answer of the process that owns the file; `undefined` if it ended before it took the call. */
  async #ask({ observed, table }: Connection, method: string, args: readonly unknown[]): Promise<string | undefined> {
    const deadline = Date.now() + this.#settings.timeoutMs;
    const call = { service: this.#service, method, args: encodeCall(args), deadline };
    let id = this.#unlessBusy(() => table.add(call));
    while (id === undefined) {
      if (Date.now() > deadline) throw this.#unanswered('nothing was changed');
      await delay(maxPollMs);
      if (!observed.isOwned()) return undefined;
      id = this.#unlessBusy(() => table.add(call));
    }
    const added = id;
    const withdraw = (): boolean => this.#unlessBusy(() => table.withdraw(added)) ?? false;
    let pollMs = firstPollMs;
    let lookAt = Date.now() + presenceIntervalMs;
    for (;;) {
      await delay(pollMs);
      const answer = this.#unlessBusy(() => table.answerTo(added));
      if (answer !== undefined) {
        // The owner deletes an answer that stays.
        this.#unlessBusy(() => table.remove(added));
        return answer;
      }
      pollMs = Math.min(pollMs * 1.5, maxPollMs);
      const now = Date.now();
      if (now > lookAt) {
        lookAt = now + presenceIntervalMs;
        if (!observed.isOwned() && withdraw()) return undefined;
      }
      if (now > deadline) {
        throw this.#unanswered(
          withdraw() ? 'nothing was changed' : 'it may change the state later; read it before a retry',
        );
      }
    }
  }

  /** Owns the file for one operation. */
  async #own(method: string, args: readonly unknown[]): Promise<unknown> {
    const { file, clock } = this.#settings;
    const settings = { ...noLimits, file, clock, synchronous: 'full', codec: undefined } as const;
    const store = await openStore(settings, this.#logger);
    try {
      const target = { broker: store.broker, manager: store.connect(this.#service) };
      return await executeCall(target, method, args);
    } finally {
      await store.close();
    }
  }

  async #connect(): Promise<Connection> {
    const known = this.#connection;
    // A backup may have taken the place of the file.
    if (known !== undefined && (await known.catch(() => undefined))?.observed.isPresent() !== true) {
      if (this.#connection === known) await this.close();
    }
    this.#connection ??= this.#open();
    const connection = this.#connection;
    try {
      return await connection;
    } catch (error) {
      if (this.#connection === connection) this.#connection = undefined;
      throw error;
    }
  }

  async #open(): Promise<Connection> {
    const observed = await openObserved(this.#settings.file, { readOnly: false });
    return { observed, table: new CallTable(observed.database) };
  }

  #unanswered(advice: string): TransportUnavailableError {
    const { file, timeoutMs } = this.#settings;
    const problem = `the process that owns ${quote(file)} did not answer within ${timeoutMs} ms`;
    return new TransportUnavailableError(problem, undefined, advice);
  }

  /** Returns `undefined` if another process writes for longer than SQLite waits: its disk, or its processor, is slow. */
  #unlessBusy<T>(use: () => T): T | undefined {
    try {
      return use();
    } catch (error) {
      if (isBusy(error)) return undefined;
      throw new FileAccessError(this.#settings.file, error);
    }
  }
}

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
class FileSnapshot {
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
    return dataVersion(database) === loaded.version ? loaded : undefined;
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
      const version = dataVersion(database);
      const minute = this.#minute();
      const settings = { ...noLimits, clock: this.#clock };
      const { broker, stores } = loadStore(this.#file, database, frozenOf(this.#file), settings, false);
      new HubRows(database, broker).restoreAll(broker.connections);
      const target = { broker, manager: new BrokerManager('sqlite', this.#service, broker, stores) };
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

function dataVersion(database: Database): unknown {
  return database.prepare('PRAGMA data_version').get()?.['data_version'];
}
