/**
 * SQLite transport: events survive the process, with no service beside it. One process owns the file.
 *
 * @module hubline/sqlite
 */

export type { Clock, Timer } from '../clock.js';
export type { Codec } from '../codec/codec.js';
export type { RetireOptions, RetireResult } from '../retirement.js';
export type { Transport } from '../transport.js';
export { type SqliteObserverOptions, sqliteObserver } from './observing/sqlite-observer.js';
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
export type { SqliteTransportOptions } from './sqlite-options.js';
export { type SqliteTransport, sqliteTransport } from './sqlite-transport.js';
