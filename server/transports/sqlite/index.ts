/**
 * SQLite transport: events survive the process, with no service beside it. One process owns the file.
 *
 * @module hubline/sqlite
 */

export type { Clock, Timer } from '../clock.js';
export type { Codec } from '../codec/codec.js';
export type { Transport } from '../transport.js';
export {
  CorruptFileError,
  FileAccessError,
  FileInUseError,
  NewerFileError,
  UnsupportedSqliteError,
} from './sqlite-errors.js';
export type { SqliteTransportOptions } from './sqlite-options.js';
export { sqliteTransport } from './sqlite-transport.js';
