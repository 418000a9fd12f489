import { isName, OptionChecker } from '../../options.js';
import { type Envelope, type SqlTransaction, toRecorded } from '../../transports/delivery.js';
import type { Receipt } from '../../transports/transport.js';
import type { Snapshot } from './payload.js';

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

/** Options of an emit that takes part in a transaction of the caller. */
export interface TransactionOption {
  /**
   * Open transaction of the caller in the database of `postgresTransport`: a client of `pg`, or the result of
   * `fromDrizzle`, `fromKysely`, `fromKnex` or `fromPrisma` of `hubline/postgres`. The event is accepted if and when the
   * transaction commits.
   */
  tx: SqlTransaction;
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
// No overload per form of `event`: TypeScript then names the wrong property, and not another overload.
// Without NoInfer, a misspelt optional property of the payload would widen TPayload and compile.
export interface Emit {
  /**
   * Emits an event in a transaction of the caller. Validates, then inserts into an inbox, and resolves with the id. If the
   * transaction commits, the process that sees it first accepts the event: it counts, deduplicates and debounces. A
   * rollback leaves nothing.
   *
   * @throws {TransactionUnsupportedError | MissingTransactionError | OtherDatabaseError}
   */
  <TPayload = unknown>(
    event: EventRef<TPayload, unknown> | string,
    payload: NoInfer<TPayload>,
    options: EmitOptions & TransactionOption,
  ): Promise<{ readonly id: string }>;
  <TPayload = unknown>(
    event: EventRef<TPayload, unknown> | string,
    payload: NoInfer<TPayload>,
    options?: EmitOptions,
  ): Promise<Receipt>;
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
export type CtxEmit = <TPayload = unknown>(
  event: EventRef<TPayload, unknown> | string,
  payload: NoInfer<TPayload>,
  options?: EmitOptions,
) => Promise<{ readonly id: string }>;

/** Options of `emitMany`. */
export interface EmitManyOptions<TPayload = unknown> extends Omit<EmitOptions, 'requestId' | 'dedupeId'> {
  /** Correlation id of all these events. @default the id of each event, or the causing event's `requestId` */
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
  /** Emits the events in a transaction of the caller, as {@link Emit} does with `tx`. */
  <TPayload = unknown>(
    event: EventRef<TPayload, unknown> | string,
    payloads: readonly NoInfer<TPayload>[],
    options: EmitManyOptions<NoInfer<TPayload>> & TransactionOption,
  ): Promise<readonly { readonly id: string }[]>;
  <TPayload = unknown>(
    event: EventRef<TPayload, unknown> | string,
    payloads: readonly NoInfer<TPayload>[],
    options?: EmitManyOptions<NoInfer<TPayload>>,
  ): Promise<readonly Receipt[]>;
}

/** @throws {InvalidOptionError} */
export function checkEmitManyOptions(options: EmitManyOptions<never> & Partial<TransactionOption>): void {
  const check = new OptionChecker(options, ['requestId', 'delayMs', 'dedupeId', 'priority', 'cause', 'tx'], 'emitMany');
  check.function('dedupeId', options.dedupeId);
  checkTx(check, options.tx);
}

function checkTx(check: OptionChecker, tx: SqlTransaction | undefined): void {
  const expected =
    'an open transaction: a client of pg, or a result of fromDrizzle, fromKysely, fromKnex or fromPrisma';
  check.that(tx === undefined || typeof tx?.query === 'function', 'tx', expected, tx);
}

/** Returns `true` for what transports can store. A cause may come from another process. */
function isCause(cause: Partial<EmitCause> | null): boolean {
  return (
    isName(cause?.eventId) && isName(cause.requestId) && Number.isSafeInteger(cause.depth) && Number(cause.depth) >= 0
  );
}

/** @param isOwn the attempt of a handler or step emits: what it emits is part of its outcome @throws {InvalidOptionError} */
export function checkEmitOptions(options: EmitOptions & Partial<TransactionOption>, isOwn: boolean): void {
  const check = new OptionChecker(options, ['requestId', 'delayMs', 'dedupeId', 'priority', 'cause', 'tx'], 'emit');
  const { tx } = options;
  check.that(tx === undefined || !isOwn, 'tx', 'left out of ctx.emit and step.emit, which are part of the outcome', tx);
  checkTx(check, tx);
  check.name('requestId', options.requestId);
  check.name('dedupeId', options.dedupeId);
  const { cause } = options;
  check.that(cause === undefined || isCause(cause), 'cause', 'the context of a handler or step', cause);
  check.durationMs('delayMs', options.delayMs);
  check.count('priority', options.priority, { min: -100, max: 100 });
}

declare const emittedType: unique symbol;
declare const storedType: unique symbol;

/**
 * Reference to a registered event type. Carries the payload type that `emit` accepts, and the one that its schema
 * returns, which is what handlers, triggered workflows and `step.waitForEvent` receive.
 */
export interface EventRef<in TPayload = unknown, out TStored = TPayload> {
  readonly type: string;
  /** Type of an emitted payload, for the compiler. Never present at run time. */
  readonly [emittedType]?: (payload: TPayload) => void;
  /** Type of a stored payload, for the compiler. Never present at run time. */
  readonly [storedType]?: () => TStored;
}

/**
 * Payload that handlers of an event receive, for a handler in a file of its own. `never` for what is no event.
 *
 * @typeParam TEvent type of a definition or reference: `typeof orderPlaced`
 */
export type PayloadOf<TEvent> = TEvent extends EventRef<never, infer TStored> ? TStored : never;

declare const inputType: unique symbol;
declare const resultType: unique symbol;

/** Reference to a workflow. Carries the types of the input that starts a run, and of the result. */
export interface WorkflowRef<in TInput = unknown, out TResult = unknown> {
  readonly name: string;
  /** Type of the input, for the compiler. Never present at run time. */
  readonly [inputType]?: (input: TInput) => void;
  /** Type of the result, for the compiler. Never present at run time. */
  readonly [resultType]?: () => TResult;
}

/** Event, run or step that causes events. */
export type Cause = Pick<Envelope, 'id' | 'requestId' | 'depth' | 'trace'>;

/**
 * Event or run before it has an id. Whoever publishes it fills in the id, the `requestId` if it is empty, the key, and what a run has besides:
 * setting them costs less than a copy.
 */
export class Draft implements Envelope {
  id = '';
  readonly type: string;
  requestId: string;
  readonly depth: number;
  readonly delayMs: number;
  readonly priority: number;
  readonly replays = 0;
  readonly dedupe: Envelope['dedupe'];
  readonly trace: Envelope['trace'];
  key: string | undefined;
  service: string | undefined;
  receives: Envelope['receives'];
  cancelOn: Envelope['cancelOn'];
  overlap: Envelope['overlap'];
  readonly causeId: string | undefined;
  readonly #payload: Snapshot;
  /** Not part of the envelope: transports do not store them. */
  #tags: readonly string[] | undefined;

  /**
   * @param options options of `emit`
   * @param dedupeWindowMs deduplication window of the type, in milliseconds
   * @param causedBy causing event; overrides `options.cause`
   */
  constructor(
    type: string,
    payload: Snapshot,
    options: EmitOptions,
    dedupeWindowMs: number,
    causedBy: Cause | undefined,
  ) {
    const { delayMs = 0, priority = 0, dedupeId, requestId } = options;
    const cause = causedBy ?? causeOf(options);
    this.type = type;
    this.requestId = requestId ?? cause?.requestId ?? '';
    this.depth = cause === undefined ? 0 : cause.depth + 1;
    this.delayMs = delayMs;
    this.priority = priority;
    this.dedupe = dedupeId === undefined ? undefined : { id: dedupeId, windowMs: dedupeWindowMs };
    this.trace = cause?.trace;
    this.causeId = cause?.id;
    this.#payload = payload;
  }

  /** Returns the payload of an event, which the caller may change. @throws {SyntaxError} if the body is not JSON */
  static takePayload(envelope: Envelope): unknown {
    return #payload in envelope ? envelope.#payload.take() : JSON.parse(envelope.body);
  }

  /** Returns the tags of an event of a type with tags. */
  static tagsOf(envelope: Envelope): readonly string[] | undefined {
    return #tags in envelope ? envelope.#tags : undefined;
  }

  set tags(tags: readonly string[]) {
    this.#tags = tags;
  }

  get body(): string {
    return this.#payload.json;
  }

  size(): number {
    return this.#payload.size;
  }

  pack(): void {
    this.#payload.pack();
  }

  /** Returns the envelope for `JSON.stringify`, which ignores the accessor of the body. */
  toJSON(): Envelope {
    return toRecorded(this);
  }

  /** Sets the id. An event from outside belongs to the request that has its own id. */
  identify(id: string): Envelope {
    this.id = id;
    if (this.requestId === '') this.requestId = id;
    return this;
  }
}

function causeOf({ cause }: EmitOptions): Cause | undefined {
  return cause && { id: cause.eventId, requestId: cause.requestId, depth: cause.depth };
}
