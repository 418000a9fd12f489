import { messageOf } from '../errors.js';

/**
 * What a tool returned as the model reads it: a string as it is, anything else as JSON, `undefined` as
 * `null`, a bigint as a string.
 *
 * @throws {Error} where it has no JSON form, such as a circular object
 */
export function toJsonText(value: unknown, toolName: string): string {
  if (typeof value === 'string') return value;
  try {
    // Functions and symbols have no JSON form either, and JSON.stringify says `undefined` of them too.
    return JSON.stringify(value, bigintAsString) ?? 'null';
  } catch (cause) {
    throw new Error(`the result of ${toolName} cannot be written as JSON: ${messageOf(cause)}`, { cause });
  }
}

/** A failed call as the model reads it. */
export function toErrorText(error: string): string {
  return `Error: ${error}`;
}

function bigintAsString(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
