import { quote } from '../../errors.js';
import type { Redactor } from '../../redaction.js';
import type { Operation } from '../../telemetry.js';
import type { Clock, Timer } from '../../transports/clock.js';
import { deriveId, type Envelope } from '../../transports/delivery.js';
import type { Logger, TransportManager } from '../../transports/transport.js';
import { AttemptEndedError, EmitLimitError, HandlerTimeoutError } from '../errors.js';
import type { CtxStartWorkflow, HandlerCtx } from './context.js';
import { attachPlace, type DurablePlace } from './durable-place.js';
import type { Cause, CtxEmit, Draft, EmitOptions, EventRef, WorkflowRef } from './emit.js';
import { type AgentReporter, attachReporter } from './reported-agents.js';

/** Callbacks of a {@link HandlerCall}. Exactly one is called, once, unless the call is cancelled. */
export interface CallCallbacks {
  onReturn(value: unknown): void;
  onThrow(error: unknown): void;
}

/** One call of a handler. Ends once: with a result, an error, a timeout, or by cancellation. */
export class HandlerCall {
  readonly #callbacks: CallCallbacks;
  readonly #timeout: Timer | undefined;
  readonly #operation: Operation | undefined;
  #hasEnded = false;
  /** The call timed out or was aborted: the handler may run on. */
  #isAborted = false;
  /** Promise of the current stage. */
  #running: Promise<unknown> | undefined;
  #context: HandlerContext | undefined;

  /** @param operation ends with the call */
  constructor(
    owner: string,
    timeoutMs: number | undefined,
    clock: Clock,
    callbacks: CallCallbacks,
    operation?: Operation | undefined,
  ) {
    this.#callbacks = callbacks;
    this.#operation = operation;
    if (timeoutMs === undefined) return;
    this.#timeout = clock.after(timeoutMs, () => {
      const error = new HandlerTimeoutError(owner, timeoutMs);
      this.#isAborted = true;
      this.#context?.abort(error);
      this.#fail(error);
    });
  }

  /**
   * Runs `stage` and calls `next` with its result, unless the call has ended by then. If the result is not a
   * promise, `next` is called synchronously.
   */
  runStage<T>(stage: () => T | PromiseLike<T>, next: (value: T) => void): void {
    const proceed = (value: T): void => {
      if (!this.#hasEnded) next(value);
    };
    try {
      const value = stage();
      if (isThenable(value)) this.#await(value, proceed);
      else proceed(value);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Calls the handler. */
  invoke<TContext extends HandlerContext>(handler: (context: TContext) => unknown, context: TContext): void {
    this.#context = context;
    const operation = this.#operation;
    try {
      const value = operation === undefined ? handler(context) : operation.run(() => handler(context));
      if (isThenable(value)) this.#await(value, (result) => this.#return(result));
      else this.#return(value);
    } catch (error) {
      this.#fail(error);
    }
  }

  #await<T>(value: PromiseLike<T>, next: (result: T) => void): void {
    // A thenable may throw or settle twice. A promise of it does neither.
    const running = Promise.resolve(value);
    this.#running = running;
    running.then(next, (error: unknown) => this.#fail(error));
  }

  #return(value: unknown): void {
    if (this.#hasEnded) return;
    this.#end();
    this.#callbacks.onReturn(value);
  }

  /** Resolves when a handler that ran on after its timeout or abort returns; `undefined` for any other call. */
  get unfinished(): Promise<void> | undefined {
    return this.#isAborted ? this.#running?.then(ignore, ignore) : undefined;
  }

  /** Ends the call without a callback. `reason` aborts the handler, if it runs. */
  cancel(reason?: Error): void {
    if (reason !== undefined) this.#operation?.fail(reason);
    this.#end();
    if (reason === undefined) return;
    this.#isAborted = true;
    this.#context?.abort(reason);
  }

  #fail(error: unknown): void {
    if (this.#hasEnded) return;
    this.#operation?.fail(error);
    this.#end();
    this.#callbacks.onThrow(error);
  }

  #end(): void {
    this.#hasEnded = true;
    this.#timeout?.cancel();
    this.#operation?.end();
  }
}

function ignore(): void {}

function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

/** Fields of a context that identify its attempt. */
export type ContextFields = Pick<
  HandlerCtx,
  'requestId' | 'eventType' | 'eventId' | 'payload' | 'attempt' | 'depth' | 'idempotencyKey'
>;

/**
 * Signal and logger of a context, created on first access: the abort controller is its most expensive part. A class,
 * because V8 creates the getters of an object literal in its old generation, and with them the run outlives its end.
 */
export abstract class LazyContext {
  readonly #hubLogger: Logger;
  #logger: Logger | undefined;
  #controller: AbortController | undefined;
  #abortReason: Error | undefined;

  constructor(logger: Logger) {
    this.#hubLogger = logger;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  get logger(): Logger {
    this.#logger ??= this.#hubLogger.child?.(this.logFields) ?? this.#hubLogger;
    return this.#logger;
  }

  /** Fields that identify the subject of the context in each line of its log. */
  protected abstract get logFields(): object;

  abort(reason: Error): void {
    this.#abortReason ??= reason;
    this.#controller?.abort(reason);
  }
}

/** Context of one attempt. */
export class HandlerContext extends LazyContext implements HandlerCtx {
  readonly requestId: string;
  readonly eventType: string;
  readonly eventId: string;
  readonly payload: unknown;
  readonly attempt: number;
  readonly depth: number;
  readonly idempotencyKey: string;
  readonly emit: CtxEmit;
  readonly startWorkflow: CtxStartWorkflow;

  /** @param place present if the agents that run with the context record their turns */
  constructor(
    fields: ContextFields,
    emitter: AttemptEmitter,
    host: Pick<HandlerHost, 'logger' | 'reportedAgents'>,
    place?: DurablePlace,
  ) {
    super(host.logger);
    this.requestId = fields.requestId;
    this.eventType = fields.eventType;
    this.eventId = fields.eventId;
    this.payload = fields.payload;
    this.attempt = fields.attempt;
    this.depth = fields.depth;
    this.idempotencyKey = fields.idempotencyKey;
    this.emit = emitter.emit;
    this.startWorkflow = emitter.startWorkflow;
    attachReporter(this, host.reportedAgents);
    if (place !== undefined) attachPlace(this, place);
  }

  protected override get logFields(): object {
    const { requestId, eventType, eventId, attempt } = this;
    return { requestId, eventType, eventId, attempt };
  }
}

/** Maximum number of events that one outcome or one step emits. */
const maxEmits = 1_000;

/** Maximum size of the payloads that one outcome or one step emits, in bytes of UTF-8. */
const maxEmitBytes = 4 * 1_024 * 1_024;

/** Creates events and runs without ids. Synchronous unless a schema is asynchronous. */
export interface DraftSource {
  /** Service that emits. */
  readonly service: string;
  /**
   * Checks a payload and returns its event.
   *
   * @param cause causing event; overrides `options.cause`
   * @throws all that `emit` throws for its arguments
   */
  draft(
    event: EventRef<never, unknown> | string,
    payload: unknown,
    options?: EmitOptions,
    cause?: Cause,
  ): Draft | Promise<Draft>;
  /** Checks the input of a run and returns its start. @throws all that `startWorkflow` throws for its arguments */
  draftRun(
    workflow: WorkflowRef<never> | string,
    input: unknown,
    options?: EmitOptions,
    cause?: Cause,
  ): Draft | Promise<Draft>;
}

/** Prepares the events that handlers and runs cause. */
export interface EventPublisher extends DraftSource {
  /**
   * Passes follow-ups through the schemas of their types and adds their keys, as `emit` does. A payload that its schema
   * rejects stays as it is: its event fails when it is delivered, with a record of why. Synchronous unless a schema is
   * asynchronous.
   */
  prepareFollowUps(envelopes: readonly Envelope[]): readonly Envelope[] | Promise<readonly Envelope[]>;
}

/** The part of a hub that handling deliveries needs. */
export interface HandlerHost {
  readonly transport: Pick<TransportManager, 'service' | 'clock'>;
  readonly logger: Logger;
  readonly maxPayloadBytes: number;
  readonly redactor: Redactor;
  /** Receives the agents that handlers run themselves. */
  readonly reportedAgents: AgentReporter;
  readonly publisher: EventPublisher;
}

const none: readonly Envelope[] = [];

/**
 * Collects what one attempt emits. The transport accepts it together with the attempt's outcome or the step's result.
 * Ids derive from the cause and from the order of the calls.
 */
export class AttemptEmitter {
  readonly #source: DraftSource;
  readonly #cause: Cause;
  readonly #place: string;
  #envelopes: Envelope[] | undefined;
  #bytes = 0;
  #isClosed = false;

  /** @param place prefix of the derived ids, unique among the events of the cause */
  constructor(source: DraftSource, cause: Cause, place: string) {
    this.#source = source;
    this.#cause = cause;
    this.#place = place;
  }

  readonly emit: CtxEmit = async (
    event: EventRef<never, unknown> | string,
    payload: unknown,
    options?: EmitOptions,
  ) => {
    this.#checkOpen('ctx.emit');
    const draft = this.#source.draft(event, payload, options, this.#cause);
    // Without the await of an asynchronous schema, an event counts even if the handler does not await its emit.
    return { id: this.#add('ctx.emit', draft instanceof Promise ? await draft : draft) };
  };

  readonly startWorkflow: CtxStartWorkflow = async (
    workflow: WorkflowRef<never> | string,
    input: unknown,
    options?: EmitOptions,
  ) => {
    this.#checkOpen('ctx.startWorkflow');
    const draft = this.#source.draftRun(workflow, input, options, this.#cause);
    return { runId: this.#add('ctx.startWorkflow', draft instanceof Promise ? await draft : draft) };
  };

  /** Refuses further events and returns the collected ones. */
  close(): readonly Envelope[] {
    this.#isClosed = true;
    const envelopes = this.#envelopes ?? none;
    this.#envelopes = undefined;
    return envelopes;
  }

  #checkOpen(operation: string): void {
    if (this.#isClosed) throw new AttemptEndedError(operation);
  }

  #add(operation: string, draft: Draft): string {
    this.#checkOpen(operation);
    this.#envelopes ??= [];
    const number = this.#envelopes.length;
    const bytes = this.#bytes + draft.size();
    if (number >= maxEmits) throw new EmitLimitError(quote(draft.type), `${maxEmits} events`);
    if (bytes > maxEmitBytes) throw new EmitLimitError(quote(draft.type), `${maxEmitBytes} bytes of payloads`);
    this.#bytes = bytes;
    const id = deriveId(this.#source.service, this.#cause.id, `${this.#place}${number}`);
    this.#envelopes.push(draft.identify(id));
    return id;
  }
}
