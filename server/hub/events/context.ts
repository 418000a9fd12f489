import type { SqlTransaction, TransactionSettings } from '../../transports/delivery.js';
import type { Logger } from '../../transports/transport.js';
import type { CtxEmit, EmitOptions, WorkflowRef } from './emit.js';
import type { Publish } from './live-output.js';

/**
 * Context of one attempt to handle an event. `signal`, `logger` and `publish` are created on first access and are not own
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
  /**
   * Publishes live output of the event, or of the run that the step belongs to. What an attempt publishes is marked with
   * its number, and repeated by the next one if it fails. Created on first access, like `signal`.
   */
  readonly publish: Publish;
  /**
   * Ends the attempt in a transaction of the database: the writes of `work`, the outcome and what was emitted commit
   * together, exactly once. Needs the Postgres transport.
   */
  readonly transaction: CtxTransaction;
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

/**
 * Calls `work` in a transaction, and commits its writes together with the success of the attempt: the event ends, or the
 * step is recorded, with the result of `work`. At most one commits per attempt. What the handler does later cannot change
 * the outcome; an error in it is logged. If `work` throws, its writes are rolled back and the attempt goes on.
 *
 * The client is a `PoolClient` of `pg`: declare the parameter so for a client that builds on it. After a deadlock or a
 * serialization failure `work` is called again, so it must have no effect but its writes.
 *
 * @example
 * ```ts
 * hub.event(orderPlaced, {
 *   handler: async ({ payload, transaction }) => {
 *     await transaction(async (client) => {
 *       await client.query('UPDATE stock SET pieces = pieces - 1 WHERE id = $1', [payload.id]);
 *     });
 *   },
 * });
 * ```
 * @throws {TransactionUnsupportedError} on other transports, and in tools and handlers of agents
 * @throws {AttemptEndedError} if the attempt has ended
 * @throws {LeaseLostError} if another process has the event; nothing was written
 * @throws {TransportUnavailableError} if the connection was lost; the event runs again unless the commit was received
 */
export type CtxTransaction = <T, TClient extends SqlTransaction = SqlTransaction>(
  work: (client: TClient) => T,
  settings?: TransactionSettings,
) => Promise<Awaited<T>>;

/** Alias of {@link HandlerCtx}. */
export type HubCtx<TPayload = unknown> = HandlerCtx<TPayload>;

/** Handles one attempt. Its return value is the payload of `onSuccess`. Throwing fails the attempt. */
export type HandlerFunction<TPayload = unknown, TResult = unknown> = (ctx: HandlerCtx<TPayload>) => TResult;
