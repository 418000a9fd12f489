/**
 * Errors of the SQLite transport.
 *
 * @module
 */
import { HubError, quote } from '../../errors.js';
import { TransportUnavailableError } from '../errors.js';

/** Another transport, in this process or in another one, owns the file. */
export class FileInUseError extends HubError {
  constructor(file: string, options?: ErrorOptions) {
    super(
      'ERR_FILE_IN_USE',
      `${quote(file)} is in use: one sqliteTransport owns a file at a time; stop the other process, share one transport among the hubs of this one, or use redisTransport for many processes`,
      options,
    );
  }
}

/** The file or its folder cannot be opened, created or written. */
export class FileAccessError extends HubError {
  constructor(file: string, cause: unknown) {
    super(
      'ERR_FILE_ACCESS',
      `${quote(file)} cannot be opened (${reasonOf(cause)}); the process needs an existing folder in which it can create and write files`,
      { cause },
    );
  }
}

/** The file is not a database of this package, or its contents are damaged. */
export class CorruptFileError extends HubError {
  constructor(file: string, problem: string, options?: ErrorOptions) {
    super(
      'ERR_CORRUPT_FILE',
      `${quote(file)} cannot be used: ${problem}; restore a backup, or examine the file with PRAGMA integrity_check`,
      options,
    );
  }
}

/** A later version of the package wrote the file. */
export class NewerFileError extends HubError {
  constructor(file: string, found: number, supported: number) {
    super(
      'ERR_NEWER_FILE',
      `${quote(file)} has schema version ${found}, and this version of hubline knows versions up to ${supported}; install the version that wrote the file, or a later one`,
    );
  }
}

/** An earlier version of the package wrote the file, and no process has updated it yet. */
export class OlderFileError extends HubError {
  constructor(file: string, found: number, needed: number) {
    super(
      'ERR_OLDER_FILE',
      `${quote(file)} has schema version ${found}, and sqliteObserver reads version ${needed}; start the process that owns the file with this version of hubline, which updates the file`,
    );
  }
}

/** A `sqliteObserver` was asked for something that only the transport that owns the file does. */
export class FileObserverError extends HubError {
  constructor(operation: string) {
    super(
      'ERR_FILE_OBSERVER',
      `${operation} on a sqliteObserver, which does not own the file; use sqliteTransport in the process that owns it, and create the hub of an observer with observer: true`,
    );
  }
}

/** The answer of the process that owns the file is larger than a row of the file may be. */
export class AnswerTooLargeError extends HubError {
  constructor(maxMiB: number) {
    super(
      'ERR_ANSWER_TOO_LARGE',
      `the answer is larger than ${maxMiB} MiB; ask for fewer dead letters, by limit or since`,
    );
  }
}

/** The available SQLite is older than the transport requires. */
export class UnsupportedSqliteError extends HubError {
  constructor(found: string) {
    super(
      'ERR_UNSUPPORTED_SQLITE',
      `SQLite ${found} can lose committed data when the log is reset; install @photostructure/sqlite, or a version of Node whose SQLite is 3.51.3, 3.50.7, 3.44.6 or later`,
    );
  }
}

/** A value of the file is not one that the transport writes. */
export class StoredValueError extends Error {
  /** Number of the row, if known. */
  position: number | undefined;

  constructor(name: string) {
    super(`its value ${name} is not valid`);
    this.name = 'StoredValueError';
  }
}

/** Returns the error of a call whose change the file did not store. @param isUncertain it may be stored later */
export function unavailable(file: string, isUncertain: boolean, cause: unknown): TransportUnavailableError {
  const problem = `${quote(file)} cannot be written`;
  const advice = isUncertain ? undefined : 'the change was not accepted; retry when the disk works';
  return new TransportUnavailableError(problem, cause, advice);
}

/** Returns the error of a call whose read of the file failed. */
export function unreadable(file: string, cause: unknown): HubError {
  if (cause instanceof StoredValueError)
    return new CorruptFileError(file, `an event is damaged: ${cause.message}`, { cause });
  return new TransportUnavailableError(`${quote(file)} cannot be read`, cause, 'retry when the disk works');
}

/** Returns the result code of SQLite or of the operating system. Messages may contain values. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  const { errstr, code, errcode } = error as { errstr?: unknown; code?: unknown; errcode?: unknown };
  if (typeof errstr === 'string') return errstr;
  if (typeof code === 'string') return typeof errcode === 'number' ? `${code} ${errcode}` : code;
  return error.name;
}
