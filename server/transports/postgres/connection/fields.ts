import { UnexpectedDataError } from '../../errors.js';

/** Fields of a JSON object, which is `unknown` until it is read. */
export type Fields = Readonly<Record<string, unknown>>;

/** @throws {UnexpectedDataError} */
export function readFields(value: unknown): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw unexpected('an object', value);
  return { ...value };
}

/** @throws {UnexpectedDataError} */
export function readList(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw unexpected('a list', value);
  return value;
}

/** @throws {UnexpectedDataError} */
export function readText(value: unknown): string {
  if (typeof value !== 'string') throw unexpected('a text', value);
  return value;
}

/** Returns a number. The client passes those of 64 bits as text. @throws {UnexpectedDataError} */
export function readNumber(value: unknown): number {
  const number = typeof value === 'string' ? Number(value) : value;
  if (typeof number !== 'number' || Number.isNaN(number)) throw unexpected('a number', value);
  return number;
}

/** Returns what `read` returns, or `undefined` if there is no value. */
export function readOptional<T>(value: unknown, read: (value: unknown) => T): T | undefined {
  return value === null || value === undefined ? undefined : read(value);
}

/** Returns an item of a list that has one per argument of a call. @throws {UnexpectedDataError} */
export function itemOf(value: unknown, index: number): unknown {
  return readList(value)[index];
}

/** Returns the error for a value that is not of the expected kind. */
export function unexpected(expected: string, got: unknown): UnexpectedDataError {
  return new UnexpectedDataError(
    `Postgres returned ${JSON.stringify(got)?.slice(0, 200) ?? 'nothing'} instead of ${expected}`,
    `Postgres returned something else than ${expected}`,
  );
}
