import { HubError } from '../../errors.js';

/** The error of an operation with keys, schedules or cancelling, none of which this transport stores. */
export function keysUnsupported(operation: string): HubError {
  return new HubError(
    'ERR_KEYS_UNSUPPORTED',
    `the redis transport does not support ${operation}: use memoryTransport() for it`,
  );
}
