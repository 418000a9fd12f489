import type { Logger } from '../../../transports/logger.js';
import { attachPlace, type DurablePlace } from '../agent-support/durable-place.js';
import { type AgentReporter, attachReporter } from '../agent-support/reported-agents.js';
import type { CtxStartWorkflow, HandlerCtx } from '../context.js';
import type { CtxEmit } from '../emit.js';
import type { AttemptEmitter } from './attempt-emitter.js';

/** Fields of a context that identify its attempt. */
export type ContextFields = Pick<
  HandlerCtx,
  'requestId' | 'eventType' | 'eventId' | 'payload' | 'attempt' | 'depth' | 'idempotencyKey'
>;

/** Part of the hub that a context needs. */
export interface ContextHost {
  readonly logger: Logger;
  readonly reportedAgents: AgentReporter;
}

/** Context of one attempt. Creates the abort controller, its most expensive part, on first access. */
export class HandlerContext implements HandlerCtx {
  readonly requestId: string;
  readonly eventType: string;
  readonly eventId: string;
  readonly payload: unknown;
  readonly attempt: number;
  readonly depth: number;
  readonly idempotencyKey: string;
  readonly emit: CtxEmit;
  readonly startWorkflow: CtxStartWorkflow;
  readonly #hubLogger: Logger;
  #logger: Logger | undefined;
  #controller: AbortController | undefined;
  #abortReason: Error | undefined;

  /** @param place present if the agents that run with the context record their turns */
  constructor(fields: ContextFields, emitter: AttemptEmitter, host: ContextHost, place?: DurablePlace) {
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
    this.#hubLogger = host.logger;
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

  /** Fields that identify the attempt in each line of its log. */
  protected get logFields(): object {
    const { requestId, eventType, eventId, attempt } = this;
    return { requestId, eventType, eventId, attempt };
  }

  abort(reason: Error): void {
    this.#abortReason ??= reason;
    this.#controller?.abort(reason);
  }
}
