import { OptionChecker } from '../../../options.js';
import { type Clock, systemClock } from '../../clock.js';
import { type Codec, resolveCodec } from '../../codec/codec.js';
import { CodedTransport } from '../../codec/coded-transport.js';
import { silentLogger } from '../../logger.js';
import { checkRetireArguments, retireResult } from '../../retirement.js';
import { backUpFile } from '../back-up-file.js';
import { checkFile } from '../sqlite-options.js';
import type { SqliteTransport } from '../sqlite-transport.js';
import { FileLink } from './file-link.js';
import { ObserverManager } from './observer-manager.js';

/** Options of {@link sqliteObserver}. */
export interface SqliteObserverOptions {
  /** Path of the database file, which must exist. */
  file: string;
  /** Maximum time in milliseconds to wait for the process that owns the file. @default 10_000 */
  timeoutMs?: number;
  /** The codec of the transport that owns the file. @default stored as JSON text */
  codec?: Codec;
  /** Source of time; a fake clock in tests. @default the system clock */
  clock?: Clock;
}

/**
 * Creates a transport for hubs without handlers on a file that another process owns. Reads, and calls of `emit`,
 * `replay`, `cancel`, `erase` and `retire`, are carried out by that process. If no process owns the file, reads come from
 * the file, and the other calls own it for their duration.
 *
 * Every call rejects with `TransportUnavailableError` if the owner does not answer, and with `FileAccessError`,
 * `CorruptFileError`, `NewerFileError`, `OlderFileError`, `UnsupportedSqliteError` or `MissingPackageError` if the file
 * cannot be used.
 *
 * @example
 * ```ts
 * const hub = createHub({ service: 'shop', observer: true, transport: sqliteObserver({ file: 'shop.db' }) });
 * ```
 * @throws {InvalidOptionError}
 */
export function sqliteObserver(options: SqliteObserverOptions): SqliteTransport {
  const check = new OptionChecker(options, ['file', 'timeoutMs', 'codec', 'clock'], 'sqliteObserver');
  const { file, timeoutMs = 10_000, clock = systemClock } = options;
  checkFile(check, file);
  check.durationMs('timeoutMs', timeoutMs, { min: 1 });
  const codec = resolveCodec(options.codec, check);
  const settings = { file, timeoutMs, clock };
  return {
    connect({ service, logger }) {
      const manager = new ObserverManager(service, settings, logger);
      return codec === undefined ? manager : new CodedTransport(manager, codec);
    },
    async retire(service, retireOptions = {}) {
      checkRetireArguments(service, retireOptions);
      const link = new FileLink(settings, service, silentLogger);
      try {
        return retireResult(await link.call('retire', retireOptions), service, retireOptions);
      } finally {
        await link.close();
      }
    },
    backup: (path) => backUpFile(file, path),
  };
}
