import { CodedTransport } from '../codec/coded-transport.js';
import { silentLogger } from '../logger.js';
import { retireService } from '../memory/retire-service.js';
import { checkRetireArguments, type RetireOptions, type RetireResult, retireResult } from '../retirement.js';
import type { Transport } from '../transport.js';
import { backUpFile } from './back-up-file.js';
import { SharedStore } from './shared-store.js';
import { SqliteManager } from './sqlite-manager.js';
import { resolveSqliteOptions, type SqliteTransportOptions } from './sqlite-options.js';

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
    connect({ service, logger }) {
      const manager = new SqliteManager(service, settings.clock, shared, logger);
      return settings.codec === undefined ? manager : new CodedTransport(manager, settings.codec);
    },
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
