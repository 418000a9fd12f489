import { checkName } from '../../options.js';
import { InvalidKeyError } from '../errors.js';
import type { RegisteredEvent } from './event.js';

/**
 * Returns the key of an event; `undefined` if it has none.
 *
 * @param payload payload as the handler receives it
 * @throws {InvalidKeyError} if the event's `key` function throws or returns something else than a key
 */
export function keyOf({ type, key }: RegisteredEvent, payload: unknown): string | undefined {
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
