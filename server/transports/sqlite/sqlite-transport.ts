import { CodedTransport } from '../codec/coded-transport.js';
import type { Transport } from '../transport.js';
import { SharedStore } from './shared-store.js';
import { SqliteManager } from './sqlite-manager.js';
import { resolveSqliteOptions, type SqliteTransportOptions } from './sqlite-options.js';

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
export function sqliteTransport(options: SqliteTransportOptions): Transport {
  const settings = resolveSqliteOptions(options);
  const shared = new SharedStore(settings);
  return {
    connect({ service, logger }) {
      const manager = new SqliteManager(service, settings.clock, shared, logger);
      return settings.codec === undefined ? manager : new CodedTransport(manager, settings.codec);
    },
  };
}
