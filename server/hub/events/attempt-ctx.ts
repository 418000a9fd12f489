import { quote } from '../../errors.js';
import type { Redactor } from '../../redaction.js';
import type { Envelope } from '../../transports/delivery.js';
import { deriveId } from '../../transports/derived-ids.js';
import type { Logger, TransportManager } from '../../transports/transport.js';
import { AttemptEndedError, EmitLimitError } from '../errors.js';
import type { CtxStartWorkflow, HandlerCtx } from './context.js';
import { attachPlace, type DurablePlace } from './durable-place.js';
import type { Cause, CtxEmit, Draft, EmitOptions, EventRef, WorkflowRef } from './emit.js';
import { type AgentReporter, attachReporter } from './reported-agents.js';

/** Fields of a context that identify its attempt. */
export type CtxFields = Pick<
  HandlerCtx,
  'requestId' | 'eventType' | 'eventId' | 'payload' | 'attempt' | 'depth' | 'idempotencyKey'
>;

/**
 * Signal and logger of a context, created on first access: the abort controller is its most expensive part. A class,
 * because V8 creates the getters of an object literal in its old generation, and with them the run outlives its end.
 */
export abstract class LazyCtx {
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
export class AttemptCtx extends LazyCtx implements HandlerCtx {
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
    fields: CtxFields,
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
