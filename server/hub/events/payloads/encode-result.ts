import { PayloadTooLargeError } from '../../errors.js';
import { encodePayload } from './payload.js';

/** Returns a shorter form of a result, whose JSON has at most `maxBytes` if that is possible. */
export type Shorten<T> = (result: T, maxBytes: number) => unknown;

const shortenKey: unique symbol = Symbol('hubline.shorten');

/** Adds a short form to a result, for a hub that finds it too large. The property is not enumerable. */
export function shortenable<T extends object>(result: T, shorten: Shorten<T>): T {
  return Object.defineProperty(result, shortenKey, { value: shorten });
}

/**
 * Encodes what a handler, a step or a run returned as JSON. A result that is too large is replaced by its short form if
 * it has one: what was paid must not be lost because it is long.
 *
 * @param root name of the result in errors
 * @throws {PayloadNotJsonError | PayloadTooLargeError}
 */
export function encodeResult(result: unknown, type: string, maxPayloadBytes: number, root: string): string {
  try {
    return encodePayload(result, type, maxPayloadBytes, root);
  } catch (error) {
    const shorten = PayloadTooLargeError.is(error) ? shortenOf(result) : undefined;
    if (shorten === undefined) throw error;
    return encodePayload(shorten(result, maxPayloadBytes), type, maxPayloadBytes, root);
  }
}

function shortenOf(result: unknown): Shorten<unknown> | undefined {
  // Only `shortenable` sets this key.
  return (Object(result) as { readonly [shortenKey]?: Shorten<unknown> })[shortenKey];
}
