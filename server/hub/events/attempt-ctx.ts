import { type ErrorInfo, quote } from '../../errors.js';
import type { Redactor } from '../../redaction.js';
import { systemClock } from '../../transports/clock.js';
import type { Envelope } from '../../transports/delivery.js';
import { deriveId } from '../../transports/derived-ids.js';
import { TransactionUnsupportedError } from '../../transports/errors.js';
import { MemoryKeyValueStore } from '../../transports/memory/memory-key-values.js';
import type { Logger, TransportManager } from '../../transports/transport.js';
import { AttemptEndedError, EmitLimitError } from '../errors.js';
import { LimitKeeper } from '../limits/limit-keeper.js';
import type { CtxStartWorkflow, CtxTransaction, HandlerCtx } from './context.js';
import { attachPlace, type DurablePlace } from './durable-place.js';
import { type Cause, type CtxEmit, Draft, type EmitOptions, type EventRef, type WorkflowRef } from './emit.js';
import type { Failure } from './follow-ups.js';
import type { OutputWriter, PublishJoined } from './live-output.js';
import type { AgentReporter, AgentSource } from './reported-agents.js';

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
  readonly #emitter: Pick<AttemptEmitter, 'publish'>;
  readonly #ending: TransactionalAttempt | undefined;

  /**
   * @param ending attempt that a transaction can end
   * @param place present if the agents that run with the context record their turns
   */
  constructor(
    fields: CtxFields,
    emitter: Pick<AttemptEmitter, 'emit' | 'startWorkflow' | 'publish'>,
    host: Pick<HandlerHost, 'logger' | 'agentParts'>,
    ending?: TransactionalAttempt,
    place?: DurablePlace,
  ) {
    super(host.logger);
    this.#ending = ending;
    this.requestId = fields.requestId;
    this.eventType = fields.eventType;
    this.eventId = fields.eventId;
    this.payload = fields.payload;
    this.attempt = fields.attempt;
    this.depth = fields.depth;
    this.idempotencyKey = fields.idempotencyKey;
    this.emit = emitter.emit;
    this.startWorkflow = emitter.startWorkflow;
    this.#emitter = emitter;
    attachAgentParts(this, host.agentParts);
    if (place !== undefined) attachPlace(this, place);
  }

  get publish(): PublishJoined {
    return this.#emitter.publish;
  }

  get transaction(): CtxTransaction {
    return this.#ending === undefined ? refuseTransaction : this.#ending.transaction.run;
  }

  protected override get logFields(): object {
    const { requestId, eventType, eventId, attempt } = this;
    return { requestId, eventType, eventId, attempt };
  }
}

/** Attempt of which the transaction is created on first use. */
export interface TransactionalAttempt {
  readonly transaction: { readonly run: CtxTransaction };
}

/** Refuses a transaction in a context whose outcome is not that of an attempt. */
export const refuseTransaction: CtxTransaction = async () => {
  throw new TransactionUnsupportedError('ctx.transaction of an agent', undefined);
};

/** Maximum number of events that one outcome or one step emits. */
const maxEmits = 1_000;

/** Maximum size of the payloads that one outcome or one step emits, in bytes of UTF-8. */
const maxEmitBytes = 4 * 1_024 * 1_024;

/** Creates events and runs without ids. Synchronous unless a schema is asynchronous. */
export interface DraftSource {
  /** Service that emits. */
  readonly service: string;
  /** Returns the size of a payload as the transport stores it, in bytes. */
  storedBytes(draft: Draft): number;
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
  /**
   * Lets `hub.search` find events by their tags; `undefined` if none has tags. Call it once they have ids. Never rejects:
   * a failure is logged, and the events are accepted without it.
   */
  index(envelopes: readonly Envelope[]): Promise<void> | undefined;
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

/** Parts of a hub that agents find in the contexts of its handlers. */
export interface AgentParts {
  /** Receives the agents that handlers run themselves. */
  readonly reporter: AgentReporter;
  /** Takes permits of limits. */
  readonly limits: LimitKeeper;
}

/** The part of a hub that handling deliveries needs. */
export interface HandlerHost {
  readonly transport: Pick<TransportManager, 'name' | 'service' | 'clock' | 'log'>;
  readonly logger: Logger;
  readonly maxPayloadBytes: number;
  readonly redactor: Redactor;
  readonly agentParts: AgentParts;
  readonly publisher: EventPublisher;
  /** Receives each terminal failure that the process records. Must not throw. */
  readonly onFailure?: ((failure: Failure) => void) | undefined;
  /** Counts failed attempts and failures by their errors. */
  readonly errors: ErrorCounter;
  readonly invocations: InvocationNotes;
}

/** Receives which workflow starts child runs of which other one. */
export interface InvocationNotes {
  /** @param parentType type of the run that starts a child run */
  note(parentType: string, workflow: string): void;
}

/** Failed attempt, or terminal failure of an event or a run. */
export interface CountedError {
  /** Type of the event or the run. */
  readonly type: string;
  readonly id: string;
  readonly requestId: string;
  /** Epoch milliseconds. */
  readonly at: number;
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** Step of a run. */
  readonly step?: string;
  /** As it is recorded: redacted. */
  readonly error: ErrorInfo;
  readonly isTerminal: boolean;
  /** The attempt is counted already: it is that of a step. */
  readonly isCounted?: boolean;
}

/** Receives the failures of a hub. */
export interface ErrorCounter {
  count(error: CountedError): void;
}

const none: readonly Envelope[] = [];

/** Attempt that can publish. */
export interface PublishingAttempt {
  /** Created on first use: few attempts publish. */
  readonly output: OutputWriter;
}

/**
 * Collects what one attempt emits. The transport accepts it together with the attempt's outcome or the step's result.
 * Ids derive from the cause and from the order of the calls.
 */
export class AttemptEmitter {
  readonly #source: DraftSource;
  readonly #cause: Cause;
  readonly #place: string;
  readonly #attempt: PublishingAttempt;
  #envelopes: Envelope[] | undefined;
  #bytes = 0;
  #isClosed = false;

  /** @param place prefix of the derived ids, unique among the events of the cause */
  constructor(source: DraftSource, cause: Cause, place: string, attempt: PublishingAttempt) {
    this.#source = source;
    this.#cause = cause;
    this.#place = place;
    this.#attempt = attempt;
  }

  get publish(): PublishJoined {
    return this.#attempt.output.publish;
  }

  readonly emit: CtxEmit = async (
    event: EventRef<never, unknown> | string,
    payload: unknown,
    options?: EmitOptions,
  ) => {
    this.#checkOpen('ctx.emit');
    const draft = this.#source.draft(event, payload, options, this.#cause);
    // Without the await of an asynchronous schema, an event counts even if the handler does not await its emit.
    return { id: await this.#addIndexed('ctx.emit', draft instanceof Promise ? await draft : draft) };
  };

  readonly startWorkflow: CtxStartWorkflow = async (
    workflow: WorkflowRef<never> | string,
    input: unknown,
    options?: EmitOptions,
  ) => {
    this.#checkOpen('ctx.startWorkflow');
    const draft = this.#source.draftRun(workflow, input, options, this.#cause);
    return { runId: await this.#addIndexed('ctx.startWorkflow', draft instanceof Promise ? await draft : draft) };
  };

  /** Events that are collected so far. */
  get emitted(): readonly Envelope[] {
    return [...(this.#envelopes ?? none)];
  }

  /** Returns a place in the collected events. */
  mark(): EmitterMark {
    return { count: this.#envelopes?.length ?? 0, bytes: this.#bytes };
  }

  /** Drops the events that were collected after a place. */
  rewind({ count, bytes }: EmitterMark): void {
    this.#envelopes?.splice(count);
    this.#bytes = bytes;
  }

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

  #addIndexed(operation: string, draft: Draft): string | Promise<string> {
    const id = this.#add(operation, draft);
    return (Draft.tagsOf(draft) && this.#source.index([draft])?.then(() => id)) ?? id;
  }

  #add(operation: string, draft: Draft): string {
    this.#checkOpen(operation);
    this.#envelopes ??= [];
    const number = this.#envelopes.length;
    const bytes = this.#bytes + this.#source.storedBytes(draft);
    if (number >= maxEmits) throw new EmitLimitError(quote(draft.type), `${maxEmits} events`);
    if (bytes > maxEmitBytes) throw new EmitLimitError(quote(draft.type), `${maxEmitBytes} bytes of payloads`);
    this.#bytes = bytes;
    const id = deriveId(this.#source.service, this.#cause.id, `${this.#place}${number}`);
    this.#envelopes.push(draft.identify(id));
    return id;
  }
}

/** Place in the events of an {@link AttemptEmitter}. */
export interface EmitterMark {
  readonly count: number;
  readonly bytes: number;
}

const partsKey: unique symbol = Symbol('hubline.agent-parts');

/** Adds parts of a hub to a context. The property is own and enumerable, so that it survives `{ ...ctx }`. */
export function attachAgentParts(ctx: object, parts: AgentParts): void {
  (ctx as { [partsKey]?: AgentParts })[partsKey] = parts;
}

function agentPartsOf(ctx: object | undefined): AgentParts | undefined {
  // Only `attachAgentParts` sets this key.
  return (ctx as { readonly [partsKey]?: AgentParts } | undefined)?.[partsKey];
}

/** Reports an agent that runs with `ctx`, if `ctx` is the context of a handler, a workflow or a step. */
export function reportAgents(ctx: object | undefined, source: AgentSource): void {
  agentPartsOf(ctx)?.reporter.reportAgents(source);
}

let ofProcess: LimitKeeper | undefined;

/** Returns the keeper of a context's hub, and one that is shared within the process for code that runs without a hub. */
export function limitsOf(ctx: object | undefined): LimitKeeper {
  const ofHub = agentPartsOf(ctx)?.limits;
  if (ofHub !== undefined) return ofHub;
  ofProcess ??= new LimitKeeper(new MemoryKeyValueStore(systemClock), systemClock);
  return ofProcess;
}
