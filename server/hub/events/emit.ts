import { isName, OptionChecker } from '../../options.js';
import type { Receipt } from '../../transports/transport.js';
import type { EventRef } from '../references/event-ref.js';

/** Options of `emit`. */
export interface EmitOptions {
  /**
   * Correlation id shared by all events that one request causes.
   * @default the event's id, or the causing event's `requestId`
   */
  requestId?: string;
  /** Minimum delay before the event starts, in milliseconds. @default 0 */
  delayMs?: number;
  /** Deduplication id: within the type's `dedupeWindowMs`, a second event with the same id is not accepted. */
  dedupeId?: string;
  /** Whole number from -100 to 100. Within a type, events of higher priority start first. @default 0 */
  priority?: number;
  /**
   * Context of the handler that emits. The event inherits its `requestId` and has a `depth` one greater, but is accepted
   * at once, whatever the outcome of the handler. `ctx.emit` is accepted with the outcome.
   */
  cause?: EmitCause;
}

/** Event that causes another one: any context of a handler or step. */
export interface EmitCause {
  readonly eventId: string;
  readonly requestId: string;
  readonly depth: number;
}

/**
 * Emits an event. Resolves when the event is accepted, with its id. For a duplicate, resolves with the earlier
 * event's id and `deduplicated: true`. If it rejects, no counter changes.
 *
 * @throws {UnknownEventError} if the type is not registered on the hub
 * @throws {SchemaValidationError | PayloadNotJsonError | PayloadTooLargeError} if the payload is invalid
 * @throws {InvalidOptionError} if an option is invalid
 * @throws {BackpressureError} if the transport is full
 * @throws {TransportUnavailableError} if Redis does not answer; only then the event may have been accepted
 * @throws {HubNotStartedError | HubStoppedError | HubObserverError}
 */
export interface Emit {
  // Without NoInfer, a misspelt optional property of the payload would widen TPayload and compile.
  <TPayload>(event: EventRef<TPayload, unknown>, payload: NoInfer<TPayload>, options?: EmitOptions): Promise<Receipt>;
  (type: string, payload: unknown, options?: EmitOptions): Promise<Receipt>;
}

/**
 * Emits an event together with the outcome of the attempt, or with the result of the step: the transport accepts both
 * in one transaction, so that a failed attempt emits nothing and a redelivered one emits nothing twice. Resolves with
 * the event's id after the payload is validated. Accepted past the transport's limit of pending events.
 *
 * @throws {UnknownEventError | SchemaValidationError | PayloadNotJsonError | PayloadTooLargeError | InvalidOptionError}
 * @throws {EmitLimitError} if the attempt emits more than 1,000 events or 4 MiB of payloads
 * @throws {AttemptEndedError} if the attempt has ended
 */
export interface CtxEmit {
  <TPayload>(
    event: EventRef<TPayload, unknown>,
    payload: NoInfer<TPayload>,
    options?: EmitOptions,
  ): Promise<{ readonly id: string }>;
  (type: string, payload: unknown, options?: EmitOptions): Promise<{ readonly id: string }>;
}

/** Options of `emitMany`. */
export interface EmitManyOptions<TPayload = unknown> extends Omit<EmitOptions, 'requestId' | 'dedupeId'> {
  /** Correlation id shared by all events that one request causes. @default the id of the first event */
  requestId?: string;
  /** Returns the deduplication id of an event. See {@link EmitOptions.dedupeId}. */
  dedupeId?: (payload: TPayload, index: number) => string;
}

/**
 * Emits several events of one type. Validates all payloads first. Up to 1,000 events and 4 MiB of payloads are accepted
 * in one round trip, all or none; more are cut into several round trips. Resolves with one receipt per payload, in the
 * same order.
 *
 * @throws {PartialEmitError} if events were accepted before a round trip failed
 * @throws the errors of {@link Emit} if none was accepted
 */
export interface EmitMany {
  <TPayload>(
    event: EventRef<TPayload, unknown>,
    payloads: readonly NoInfer<TPayload>[],
    options?: EmitManyOptions<NoInfer<TPayload>>,
  ): Promise<readonly Receipt[]>;
  (type: string, payloads: readonly unknown[], options?: EmitManyOptions): Promise<readonly Receipt[]>;
}

/** @throws {InvalidOptionError} */
export function checkEmitManyOptions(options: EmitManyOptions): void {
  const check = new OptionChecker(options, ['requestId', 'delayMs', 'dedupeId', 'priority', 'cause'], 'emitMany');
  check.function('dedupeId', options.dedupeId);
}

/** Returns `true` for what transports can store. A cause may come from another process. */
function isCause(cause: Partial<EmitCause> | null): boolean {
  return (
    isName(cause?.eventId) && isName(cause.requestId) && Number.isSafeInteger(cause.depth) && Number(cause.depth) >= 0
  );
}

/** @throws {InvalidOptionError} */
export function checkEmitOptions(options: EmitOptions): void {
  const check = new OptionChecker(options, ['requestId', 'delayMs', 'dedupeId', 'priority', 'cause'], 'emit');
  check.name('requestId', options.requestId);
  check.name('dedupeId', options.dedupeId);
  const { cause } = options;
  check.that(cause === undefined || isCause(cause), 'cause', 'the context of a handler or step', cause);
  check.durationMs('delayMs', options.delayMs);
  check.count('priority', options.priority, { min: -100, max: 100 });
}
