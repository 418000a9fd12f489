import { RequestError } from './request-error.js';

/**
 * Checks that a value of the wire has the type `T` and returns it. Fields that it does not name are let through:
 * a newer server may send more.
 *
 * @throws what `decodeBody` makes an error for people of
 */
export type Decoder<T> = (value: unknown) => T;

/** Found by a decoder; the path to it is put together on the way out, so that a good value costs no text. */
class Mismatch extends Error {
  path = '';

  constructor(expected: string, value: unknown) {
    super(`is ${value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 40)}, not ${expected}`);
  }
}

/** Decodes a whole body. @throws {RequestError} naming the path of the value that is wrong */
export function decodeBody<T>(decode: Decoder<T>, body: unknown): T {
  try {
    return decode(body);
  } catch (error) {
    throw error instanceof Mismatch
      ? new RequestError(`The answer is not what this page expects: body${error.path} ${error.message}.`)
      : error;
  }
}

export const string: Decoder<string> = (value) => (typeof value === 'string' ? value : reject('a string', value));

export const number: Decoder<number> = (value) =>
  typeof value === 'number' && Number.isFinite(value) ? value : reject('a number', value);

export const boolean: Decoder<boolean> = (value) =>
  typeof value === 'boolean' ? value : reject('true or false', value);

export const record: Decoder<Readonly<Record<string, unknown>>> = (value) =>
  isRecord(value) ? value : reject('an object', value);

export function oneOf<T extends string>(allowed: readonly T[]): Decoder<T> {
  return (value) => allowed.find((item) => item === value) ?? reject(`one of ${allowed.join(', ')}`, value);
}

/** An object whose names are data, with values of one type. */
export function map<T>(decode: Decoder<T>): Decoder<Readonly<Record<string, T>>> {
  return (value) => {
    const source = record(value);
    const fields = Object.fromEntries(Object.keys(source).map((name) => [name, decode]));
    return object<Readonly<Record<string, T>>>(fields)(source);
  };
}

export function nullable<T>(decode: Decoder<T>): Decoder<T | null> {
  return (value) => (value === null ? null : decode(value));
}

export function optional<T>(decode: Decoder<T>): Decoder<T | undefined> {
  return (value) => (value === undefined ? undefined : decode(value));
}

export function array<T>(decode: Decoder<T>): Decoder<readonly T[]> {
  return (value) => {
    if (!Array.isArray(value)) return reject('a list', value);
    let at = 0;
    try {
      for (; at < value.length; at++) decode(value[at]);
    } catch (error) {
      throw within(`[${at}]`, error);
    }
    return value;
  };
}

export function object<T>(fields: { readonly [K in keyof T]-?: Decoder<T[K] | undefined> }): Decoder<T> {
  // Arrays and indexes, for some hundred thousand fields are checked at every poll of a large hub.
  const names = Object.keys(fields);
  const decoders: readonly Decoder<unknown>[] = Object.values(fields);
  return (value) => {
    const source = record(value);
    let at = 0;
    try {
      for (; at < names.length; at++) decoders[at]?.(source[names[at] ?? '']);
    } catch (error) {
      throw within(`.${names[at]}`, error);
    }
    // Every field of T has just been checked by its decoder; the type of `fields` demands one for each.
    return value as T;
  };
}

function within(step: string, error: unknown): unknown {
  if (error instanceof Mismatch) error.path = step + error.path;
  return error;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function reject(expected: string, value: unknown): never {
  throw new Mismatch(expected, value);
}
