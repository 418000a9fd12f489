import { RequestError } from './fetch-json.js';

/**
 * Function that checks that a received value has the type `T` and returns it. Unknown fields are ignored, because a newer
 * server may send more.
 *
 * @throws {Mismatch} which `decodeBody` turns into a `RequestError`
 */
export type Decoder<T> = (value: unknown) => T;

/** Value of the wrong type. The path is built while the error propagates, so that a valid value costs no text. */
class Mismatch extends Error {
  path = '';

  constructor(expected: string, value: unknown) {
    super(`is ${value === undefined ? 'missing' : JSON.stringify(value).slice(0, 40)}, expected ${expected}`);
  }
}

/**
 * Decodes a response body.
 *
 * @throws {RequestError} with the path of the first invalid value
 */
export function decodeBody<T>(decode: Decoder<T>, body: unknown): T {
  try {
    return decode(body);
  } catch (error) {
    throw error instanceof Mismatch
      ? new RequestError(`The response has an unexpected shape: body${error.path} ${error.message}.`)
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

/** Returns an object with the same value for each of the names. */
export function forEach<N extends string, T>(names: readonly N[], value: T): Readonly<Record<N, T>> {
  // `Object.fromEntries` widens the names.
  return Object.fromEntries(names.map((name) => [name, value])) as Record<N, T>;
}

/** Decodes an object with arbitrary keys and values of one type. */
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

/** Decodes a list of numbers. */
export const numbers: Decoder<readonly number[]> = array(number);

/**
 * Decodes a list of plain values, such as a column of thousands of numbers.
 *
 * @param expected noun phrase for the message about an invalid item
 */
export function items<T>(isItem: (value: unknown) => value is T, expected: string): Decoder<readonly T[]> {
  return (value) => {
    if (!Array.isArray(value)) return reject('a list', value);
    for (let at = 0; at < value.length; at++) {
      if (!isItem(value[at])) throw within(`[${at}]`, new Mismatch(expected, value[at]));
    }
    return value;
  };
}

export function object<T>(fields: { readonly [K in keyof T]-?: Decoder<T[K] | undefined> }): Decoder<T> {
  // Arrays and indexes for speed: each poll of a large hub checks several hundred thousand fields.
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
    // The type of `fields` requires a decoder for every field of T, and all of them have passed.
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
