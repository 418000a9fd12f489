import { checkName } from '../../../options.js';
import { InvalidKeyError } from '../../errors.js';
import type { RegisteredEvent } from './event.js';

/** Event type, or workflow, with the function that computes the keys of its events or runs. */
export type KeySource = Pick<RegisteredEvent, 'type' | 'key'>;

/**
 * Returns the key of an event or a run; `undefined` if it has none.
 *
 * @param payload payload as the handler receives it
 * @throws {InvalidKeyError} if the `key` function throws or returns something else than a key
 */
export function keyOf({ type, key }: KeySource, payload: unknown): string | undefined {
  if (key === undefined) return undefined;
  try {
    const value = key(payload);
    if (value === undefined) return undefined;
    checkName(value, 'its return value');
    return String(value);
  } catch (error) {
    throw new InvalidKeyError(type, error);
  }
}
