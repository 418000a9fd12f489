import { InvalidOptionError } from '../../errors.js';
import { checkOptionNames } from '../../option-names.js';
import type { Receipt } from '../../transports/transport.js';
import type { EventRef } from './event-ref.js';

/** Settings of one `emit`. */
export interface EmitOptions {
  /** Ties together all events that one request leads to. @default the event's own id, or the causing event's */
  requestId?: string;
  /** Milliseconds before the event may start. @default 0 */
  delayMs?: number;
  /** While the type's `dedupeWindowMs` lasts, a second event of the type with this id is not accepted. */
  dedupeId?: string;
  /** A whole number from -100 to 100; higher starts first within the type. @default 0 */
  priority?: number;
}

/**
 * Resolves when the event is accepted, with its id, or with the earlier event's id and
 * `deduplicated: true`. Where it rejects, nothing is counted.
 *
 * @throws {UnknownEventError} where no such type is registered on the hub
 * @throws {SchemaValidationError | PayloadNotJsonError | PayloadTooLargeError} by the payload
 * @throws {InvalidOptionError} by the options
 * @throws {BackpressureError} where the transport is full
 * @throws {TransportUnavailableError} where Redis does not answer: this event alone may have been accepted
 * @throws {HubNotStartedError | HubStoppedError | HubObserverError}
 */
export interface Emit {
  <TPayload>(event: EventRef<TPayload>, payload: TPayload, options?: EmitOptions): Promise<Receipt>;
  (type: string, payload: unknown, options?: EmitOptions): Promise<Receipt>;
}

/** @throws {InvalidOptionError} */
export function checkEmitOptions(options: EmitOptions): void {
  if (typeof options !== 'object' || options === null)
    throw new InvalidOptionError('options of emit', 'an object', options);
  checkOptionNames(options, ['requestId', 'delayMs', 'dedupeId', 'priority'], 'emit');
  const { requestId, delayMs, dedupeId, priority } = options;
  const check = (ok: boolean, option: string, expected: string, got: unknown): void => {
    if (!ok) throw new InvalidOptionError(`${option} of emit`, expected, got);
  };
  check(requestId === undefined || isId(requestId), 'requestId', 'a string of 1 to 512 characters', requestId);
  check(dedupeId === undefined || isId(dedupeId), 'dedupeId', 'a string of 1 to 512 characters', dedupeId);
  const isDelay = delayMs === undefined || (Number.isFinite(delayMs) && delayMs >= 0);
  check(isDelay, 'delayMs', 'a finite number of milliseconds, 0 or more', delayMs);
  const isPriority = priority === undefined || (Number.isInteger(priority) && Math.abs(priority) <= 100);
  check(isPriority, 'priority', 'a whole number from -100 to 100', priority);
}

function isId(value: unknown): boolean {
  return typeof value === 'string' && value.length >= 1 && value.length <= 512;
}
