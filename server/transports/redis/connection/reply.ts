import { UnexpectedDataError } from '../../errors.js';

/**
 * Readers of script replies. A reply is `unknown` until it is read here. An unexpected one was written by another
 * version, or by something else under the same prefix.
 *
 * @module
 */

/** @throws {UnexpectedDataError} */
export function readArray(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw unexpected('an array', value);
  return value;
}

/** @throws {UnexpectedDataError} */
export function readString(value: unknown): string {
  if (typeof value !== 'string') throw unexpected('a string', value);
  return value;
}

/** Returns a number, which Redis may write as a string. @throws {UnexpectedDataError} */
export function readNumber(value: unknown): number {
  const number = typeof value === 'string' ? Number(value) : value;
  if (typeof number !== 'number' || Number.isNaN(number)) throw unexpected('a number', value);
  return number;
}

/** Returns what `read` returns, or `undefined` if there is no value. */
export function readOptional<T>(value: unknown, read: (value: unknown) => T): T | undefined {
  return value === null || value === undefined ? undefined : read(value);
}

/** Returns a hash, which a script receives from `HGETALL` as a list of fields and values. */
export function readHash(value: unknown): Map<string, string> {
  const flat = readArray(value).map(readString);
  const hash = new Map<string, string>();
  for (let i = 0; i + 1 < flat.length; i += 2) hash.set(flat[i] ?? '', flat[i + 1] ?? '');
  return hash;
}

/** Returns the error for a value that is not of the expected kind. */
export function unexpected(expected: string, got: unknown): UnexpectedDataError {
  return new UnexpectedDataError(
    `Redis returned ${JSON.stringify(got) ?? 'nothing'} instead of ${expected}`,
    `Redis returned something else than ${expected}`,
  );
}
