import { RequestError } from './request-error.js';

/**
 * Checks that a value of the wire has the type `T` and returns it. Fields that it does not name are let through:
 * a newer server may send more.
 *
 * @throws {RequestError} `unexpected`, naming the path of the value that is wrong
 */
export type Decoder<T> = (value: unknown, path: string) => T;

export const string: Decoder<string> = (value, path) =>
  typeof value === 'string' ? value : reject(path, 'a string', value);

export const number: Decoder<number> = (value, path) =>
  typeof value === 'number' && Number.isFinite(value) ? value : reject(path, 'a number', value);

export const boolean: Decoder<boolean> = (value, path) =>
  typeof value === 'boolean' ? value : reject(path, 'true or false', value);

export const record: Decoder<Readonly<Record<string, unknown>>> = (value, path) =>
  isRecord(value) ? value : reject(path, 'an object', value);

export function oneOf<T extends string>(allowed: readonly T[]): Decoder<T> {
  return (value, path) => allowed.find((item) => item === value) ?? reject(path, `one of ${allowed.join(', ')}`, value);
}

/** An object whose names are data, with values of one type. */
export function map<T>(decode: Decoder<T>): Decoder<Readonly<Record<string, T>>> {
  return (value, path) => {
    const source = record(value, path);
    for (const [name, item] of Object.entries(source)) decode(item, `${path}.${name}`);
    // Every value has just been checked.
    return source as Record<string, T>;
  };
}

export function nullable<T>(decode: Decoder<T>): Decoder<T | null> {
  return (value, path) => (value === null ? null : decode(value, path));
}

export function optional<T>(decode: Decoder<T>): Decoder<T | undefined> {
  return (value, path) => (value === undefined ? undefined : decode(value, path));
}

export function array<T>(decode: Decoder<T>): Decoder<readonly T[]> {
  return (value, path) => {
    if (!Array.isArray(value)) return reject(path, 'a list', value);
    for (const [index, item] of value.entries()) decode(item, `${path}[${index}]`);
    return value;
  };
}

export function object<T>(fields: { readonly [K in keyof T]-?: Decoder<T[K] | undefined> }): Decoder<T> {
  const entries: [string, Decoder<unknown>][] = Object.entries(fields);
  return (value, path) => {
    const source = record(value, path);
    for (const [name, decode] of entries) decode(source[name], `${path}.${name}`);
    // Every field of T has just been checked by its decoder; the type of `fields` demands one for each.
    return value as T;
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function reject(path: string, expected: string, value: unknown): never {
  const got = value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 40);
  throw new RequestError('unexpected', `The answer is not what this page expects: ${path} is ${got}, not ${expected}.`);
}
