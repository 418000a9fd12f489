/**
 * What scripts answer is `unknown` until it is read here. Anything unexpected is an error: it was
 * written by another version, or by something else under the same prefix.
 *
 * @module
 */

export function readArray(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw unexpected('an array', value);
  return value;
}

export function readString(value: unknown): string {
  if (typeof value !== 'string') throw unexpected('a string', value);
  return value;
}

/** A number, which Redis may write as a string. */
export function readNumber(value: unknown): number {
  const number = typeof value === 'string' ? Number(value) : value;
  if (typeof number !== 'number' || Number.isNaN(number)) throw unexpected('a number', value);
  return number;
}

/** What `read` makes of a value, or nothing where there is none. */
export function readOptional<T>(value: unknown, read: (value: unknown) => T): T | undefined {
  return value === null || value === undefined ? undefined : read(value);
}

/** A hash, as `HGETALL` answers it in a script. */
export function readHash(value: unknown): Map<string, string> {
  const flat = readArray(value).map(readString);
  const hash = new Map<string, string>();
  for (let i = 0; i + 1 < flat.length; i += 2) hash.set(flat[i] ?? '', flat[i + 1] ?? '');
  return hash;
}

function unexpected(expected: string, got: unknown): TypeError {
  return new TypeError(`Redis answered ${JSON.stringify(got) ?? 'nothing'} where ${expected} was expected`);
}
