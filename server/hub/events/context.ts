import type { Logger } from '../../transports/transport.js';
import type { CtxEmit, EmitOptions, WorkflowRef } from './emit.js';

/**
 * Context of one attempt to handle an event. `signal` and `logger` are created on first access and are not own
 * properties: pass the context itself, because a spread copy lacks them.
 */
export interface HandlerCtx<TPayload = unknown> {
  /** Correlation id shared by all events that one request causes. Follow-ups and `ctx.emit` inherit it. */
  readonly requestId: string;
  readonly eventType: string;
  readonly eventId: string;
  /** Payload as the schema returned it. */
  readonly payload: TPayload;
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** Aborts at `timeoutMs`, and when the hub stops and releases the event. */
  readonly signal: AbortSignal;
  /**
   * Emits an event caused by this one, with the same `requestId` and a `depth` one greater. The event is accepted
   * together with the outcome of the attempt: never wait in a handler for what it emits.
   */
  readonly emit: CtxEmit;
  /** Starts a run caused by this event, which is accepted together with the outcome of the attempt. */
  readonly startWorkflow: CtxStartWorkflow;
  /** Logger of the hub. Adds `requestId`, `eventType`, `eventId` and `attempt` to each line if the hub's logger has `child`. */
  readonly logger: Logger;
  /** Number of events in the causal chain before this one; 0 for an event that no other event caused. */
  readonly depth: number;
  /** Key for idempotent requests: the same for every attempt of this service at this event, replays included. */
  readonly idempotencyKey: string;
}

/**
 * Starts a workflow run together with the outcome of the attempt, or with the result of the step. Resolves with the
 * run's id after the input is validated.
 *
 * @throws {UnknownWorkflowError} and all that {@link CtxEmit} throws
 */
export type CtxStartWorkflow = <TInput = unknown>(
  workflow: WorkflowRef<TInput> | string,
  input: NoInfer<TInput>,
  options?: EmitOptions,
) => Promise<{ readonly runId: string }>;

/** Alias of {@link HandlerCtx}. */
export type HubCtx<TPayload = unknown> = HandlerCtx<TPayload>;

/** Handles one attempt. Its return value is the payload of `onSuccess`. Throwing fails the attempt. */
export type HandlerFunction<TPayload = unknown, TResult = unknown> = (ctx: HandlerCtx<TPayload>) => TResult;
