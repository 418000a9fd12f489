/**
 * SQLite transport: events survive the process, with no service beside it. One process owns the file.
 *
 * @module hubline/sqlite
 */

export type { Clock, Timer } from '../clock.js';
export type { Codec } from '../codec.js';
export type { RetireOptions, RetireResult } from '../services.js';
export type { Transport } from '../transport.js';
export {
  AnswerTooLargeError,
  CorruptFileError,
  FileAccessError,
  FileInUseError,
  FileObserverError,
  NewerFileError,
  OlderFileError,
  UnsupportedSqliteError,
} from './sqlite-errors.js';
export { type SqliteObserverOptions, sqliteObserver } from './sqlite-observer.js';
export type { SqliteTransportOptions } from './sqlite-options.js';
export { type SqliteTransport, sqliteTransport } from './sqlite-transport.js';
