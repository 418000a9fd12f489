import { HubError, quote } from '../../errors.js';
import type { Subscription } from '../transport.js';

/** The error of an operation with keys, schedules or cancelling, none of which this transport stores. */
export function keysUnsupported(operation: string): HubError {
  return new HubError(
    'ERR_KEYS_UNSUPPORTED',
    `the redis transport does not support ${operation}: use memoryTransport() for it`,
  );
}

/** @throws {HubError} if a subscription has a `key` or is debounced */
export function checkKeysSupported(subscriptions: readonly Subscription[]): void {
  const keyed = subscriptions.find(({ perKey, debounce }) => perKey !== undefined || debounce !== undefined);
  if (keyed !== undefined) throw keysUnsupported(`key and debounceMs of event ${quote(keyed.type)}`);
}
