import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { BackpressureError, TransportUnavailableError } from '../../errors.js';

/** States of a deadlock, a serialization failure or a lock that was not to be had: the transaction had no effect. */
export const repeatable: ReadonlySet<string> = new Set(['40001', '40P01', '55P03']);
// Nothing was carried out: the session does not know the name of the statement, has it already, or parsed it with functions and
// types that were dropped since and may have been created again.
const unprepared = new Set(['26000', '42P05', '0A000', '42704', '42883', 'XX000']);
// The server accepts no session, or has no more.
const refusedSessions = new Set(['57P03', '53300']);
const refusedConnections = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENOENT', 'EHOSTUNREACH', 'ENETUNREACH']);
// Errors of pg, which have no code, before a session exists.
const connectTimeouts = new Set([
  'timeout exceeded when trying to connect',
  'Connection terminated due to connection timeout',
]);
// Connection lost, rolled back, without resources, of a server that ends or is a replica, without the lock, failed disk.
const transientClasses = /^(?:08|40|53|57|58)|^(?:25006|25P03|25P04|55P03)$/;
/** State with which the functions of the schema refuse events beyond `maxPending`. */
const backpressureState = 'HB001';
const sqlState = /^(?=.*\d)[0-9A-Z]{5}$/;
const initialDelayMs = 20;
const maxDelayMs = 1_000;

/** Returns if the transaction had no effect because of another one. */
export function isConflict(error: unknown): boolean {
  return repeatable.has(codeOf(error));
}

/** Returns if the statement did not reach the server: it may be repeated without a duplicate. */
export function isUnsent(error: unknown): boolean {
  const code = codeOf(error);
  if (refusedSessions.has(code) || refusedConnections.has(code)) return true;
  return code === '' && error instanceof Error && connectTimeouts.has(error.message);
}

/** Returns if a prepared statement may have failed because it was prepared, as behind a pooler that changes sessions. */
export function isUnprepared(error: unknown): boolean {
  return unprepared.has(codeOf(error));
}

/** Returns if the same statement may succeed later without anyone's action. Everything else would return. */
function isTransient(error: unknown): boolean {
  const code = codeOf(error);
  return sqlState.test(code) ? transientClasses.test(code) : true;
}

/** Returns the error that a caller receives for an error of the client. */
export function translateError(error: unknown, maxPending: number | undefined): Error {
  if (codeOf(error) === backpressureState) {
    return new BackpressureError('pending events', `${maxPending ?? 0} (maxPending)`);
  }
  return new TransportUnavailableError('Postgres did not carry out a statement', error);
}

/**
 * Repeats a call that has the same effect twice as once, while the server is not to be reached or refuses it for a time.
 *
 * @param deadline returns the time of `performance.now()` from which the last error is passed on
 */
export async function persist<T>(call: () => Promise<T>, deadline: () => number): Promise<T> {
  for (let ms = initialDelayMs; ; ms = Math.min(ms * 2, maxDelayMs)) {
    try {
      return await call();
    } catch (error) {
      const isOver = performance.now() >= deadline();
      if (isOver || !(error instanceof TransportUnavailableError) || !isTransient(error.cause)) throw error;
      await delay(ms);
    }
  }
}

function codeOf(error: unknown): string {
  const code: unknown = Object(error).code;
  return typeof code === 'string' ? code : '';
}
