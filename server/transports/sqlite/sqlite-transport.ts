import { randomUUID } from 'node:crypto';
import { link, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { BrokerManager } from '../broker/broker-manager.js';
import type { Clock } from '../clock.js';
import { connectCoded } from '../coded-transport.js';
import { callPart, forwardParts } from '../parts.js';
import { checkRetireArguments, type RetireOptions, type RetireResult, retireResult } from '../services.js';
import {
  type CloseResult,
  type ConsumeOptions,
  type Logger,
  silentLogger,
  type Transport,
  type TransportManager,
} from '../transport.js';
import { loadCopy } from './database/driver.js';
import { openObserved } from './database/open-database.js';
import { retireService } from './retire-service.js';
import { FileAccessError } from './sqlite-errors.js';
import { resolveSqliteOptions, type SqliteTransportOptions } from './sqlite-options.js';
import { type OpenStore, SharedStore } from './sqlite-store.js';

/** Transport on a file. */
export interface SqliteTransport extends Transport {
  /**
   * Ends subscriptions of a service that will not return, all or some: from now on no events are queued for it.
   * Rejects, and changes nothing, if a hub handles one of the types, or, without `discard`, if events are pending or dead
   * letters retained. Counts, the last failures and the last runs stay. A hub of the service that starts later subscribes
   * again.
   *
   * @throws {ServiceRunningError | PendingEventsError | NotSubscribedError | TransportUnavailableError | InvalidOptionError}
   */
  retire(service: string, options?: RetireOptions): Promise<RetireResult>;
  /**
   * Copies the file, as it is at one time, while hubs use it. The copy has every accepted event, and can take the place
   * of the file. It is complete as soon as it exists under its name.
   *
   * @param path path of the copy, which must not exist, in an existing folder
   * @throws {FileAccessError | CorruptFileError | NewerFileError | UnsupportedSqliteError | MissingPackageError}
   */
  backup(path: string): Promise<void>;
}

/**
 * Creates a transport that stores events in one file. They survive the end of the process, `kill -9` included, and with
 * `synchronous: 'full'` a power loss. One transport owns the file at a time; hubs of one process share it. Needs a Node
 * with a fixed SQLite, or the package `@photostructure/sqlite`.
 *
 * The first call of a hub opens the file, and rejects with `FileInUseError`, `FileAccessError`, `CorruptFileError`,
 * `NewerFileError`, `UnsupportedSqliteError` or `MissingPackageError` if it cannot.
 *
 * @example
 * ```ts
 * const hub = createHub({ service: 'shop', transport: sqliteTransport({ file: 'shop.db' }) });
 * ```
 * @throws {InvalidOptionError}
 */
export function sqliteTransport(options: SqliteTransportOptions): SqliteTransport {
  const settings = resolveSqliteOptions(options);
  const shared = new SharedStore(settings);
  return {
    connect: ({ service, logger }) =>
      connectCoded(connectLazily(service, settings.clock, shared, logger), settings.codec),
    async retire(service, retireOptions = {}) {
      checkRetireArguments(service, retireOptions);
      const { broker } = await shared.acquire(silentLogger);
      try {
        return retireResult(await retireService(broker, service, retireOptions), service, retireOptions);
      } finally {
        await shared.release();
      }
    },
    backup: (path) => backUpFile(settings.file, path),
  };
}

/** Open file and the connection of a service to it. */
interface Connection {
  readonly store: OpenStore;
  readonly manager: BrokerManager;
}

/** Connection of one service. The first call opens the file. */
class LazyConnection {
  readonly #service: string;
  readonly #shared: SharedStore;
  readonly #logger: Logger;
  #connection: Promise<Connection> | undefined;
  #isClosed = false;

  constructor(service: string, shared: SharedStore, logger: Logger) {
    this.#service = service;
    this.#shared = shared;
    this.#logger = logger;
  }

  async start({ onRegister, ...options }: ConsumeOptions): Promise<void> {
    this.#isClosed = false;
    try {
      await this.use(async ({ store, manager }) => {
        await onRegister?.();
        const isConsumer = options.subscriptions.length > 0;
        if (options.describe !== undefined) await store.describe(options.describe(), isConsumer);
        if (isConsumer) store.beginHandling();
        await manager.start(options);
      });
    } catch (error) {
      await this.close({ drainMs: 0 });
      throw error;
    }
  }

  async close(options: { drainMs: number }): Promise<CloseResult> {
    const connection = this.#connection;
    this.#isClosed = true;
    if (connection === undefined) return { released: 0, overdue: 0 };
    const { manager } = await connection;
    const result = await manager.close(options);
    // Another call of `close` may have been faster.
    if (this.#connection === connection) {
      this.#connection = undefined;
      await this.#shared.release();
    }
    return result;
  }

  async use<T>(call: (connection: Connection) => Promise<T>): Promise<T> {
    if (this.#connection !== undefined || !this.#isClosed) {
      this.#connection ??= this.#connect();
      const connecting = this.#connection;
      try {
        return await call(await connecting);
      } catch (error) {
        await connecting.catch(() => {
          if (this.#connection === connecting) this.#connection = undefined;
        });
        throw error;
      }
    }
    // A read after the end must not keep the file open.
    const connection = await this.#connect();
    try {
      return await call(connection);
    } finally {
      await this.#shared.release();
    }
  }

  async #connect(): Promise<Connection> {
    const store = await this.#shared.acquire(this.#logger);
    return { store, manager: store.connect(this.#service) };
  }
}

/** Creates the connection of a service to a file that is opened by the first call. */
function connectLazily(service: string, clock: Clock, shared: SharedStore, logger: Logger): TransportManager {
  const connection = new LazyConnection(service, shared, logger);
  return {
    name: 'sqlite',
    service,
    clock,
    ...forwardParts((call, args) => connection.use(({ manager }) => callPart(manager, call, args))),
    start: (options) => connection.start(options),
    publish: (envelopes) =>
      connection.use(async ({ manager }) => {
        await manager.nextTurn;
        return manager.publish(envelopes);
      }),
    pause: (paused) => connection.use(({ manager }) => manager.pause(paused)),
    close: (options) => connection.close(options),
  };
}

/**
 * Copies a file, as it is at one time, while its owner continues.
 *
 * @param target path of the copy, which must not exist
 * @throws {FileAccessError | CorruptFileError | NewerFileError | UnsupportedSqliteError | MissingPackageError}
 */
export async function backUpFile(file: string, target: string): Promise<void> {
  const copy = await loadCopy();
  const { database, close } = await openObserved(file, { readOnly: true, allowsOlder: true });
  // Under another name until it is complete: part of a copy could pass for an empty file. Each copy has its own, because
  // two that are made at once must not write into one file.
  const partial = `${target}-${randomUUID()}-partial`;
  try {
    await checkAbsence(target);
    await createLike(partial, file);
    // The copy would begin again with each change that it sees.
    database.exec('BEGIN');
    database.prepare('SELECT count(*) FROM sqlite_schema').get();
    await copy(database, partial);
    // The log of the file cannot begin again before, and a slow disk takes long to have the copy.
    database.exec('COMMIT');
    await syncFile(partial, 'r+');
    await publish(partial, target);
    // Windows opens no folder, and writes names to its own log.
    if (process.platform !== 'win32') await syncFile(dirname(target), 'r');
  } catch (error) {
    throw error instanceof FileAccessError ? error : new FileAccessError(target, error);
  } finally {
    await rm(partial, { force: true }).catch(() => {});
    close();
  }
}

async function checkAbsence(target: string): Promise<void> {
  const found = await stat(target).catch(() => undefined);
  if (found !== undefined) throw new FileAccessError(target, Object.assign(new Error('exists'), { code: 'EEXIST' }));
}

/** Creates an empty file with the permissions of another one: who may not read a file may not read its copy. */
async function createLike(path: string, file: string): Promise<void> {
  const handle = await open(path, 'wx', 0o600);
  try {
    await handle.chmod((await stat(file)).mode & 0o777);
  } finally {
    await handle.close();
  }
}

/** Gives a complete copy its name, unless another copy has taken it meanwhile. */
async function publish(partial: string, target: string): Promise<void> {
  try {
    await link(partial, target);
  } catch (error) {
    if (!hasNoLinks(error)) throw error;
    await checkAbsence(target);
    await rename(partial, target);
  }
}

/** Returns `true` for the error of a file system without hard links, such as exFAT. */
function hasNoLinks(error: unknown): boolean {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'EPERM' || code === 'ENOTSUP' || code === 'EOPNOTSUPP' || code === 'ENOSYS';
}

/** Writes a file or a folder to the disk. Windows requires the right to write to a file. */
async function syncFile(path: string, flags: 'r' | 'r+'): Promise<void> {
  const handle = await open(path, flags);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
