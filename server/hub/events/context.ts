import type { Logger } from '../../transports/logger.js';
import type { Emit } from './emit.js';

/**
 * What a handler gets: one attempt at one event. `signal` and `logger` are made when first asked for,
 * so hand on the context itself: a copy made by spreading lacks them.
 */
export interface HandlerCtx<TPayload = unknown> {
  /** Ties together all events that one request led to; follow-ups and `ctx.emit` pass it on. */
  readonly requestId: string;
  readonly eventType: string;
  readonly eventId: string;
  /** The payload after its schema, a copy of what was emitted. */
  readonly payload: TPayload;
  /** From 1. */
  readonly attempt: number;
  /** Aborts at `timeoutMs`, and when the hub stops and hands the event back. */
  readonly signal: AbortSignal;
  /** Emits an event caused by this one: it carries on `requestId`, one deeper. */
  readonly emit: Emit;
  /** Adds `requestId`, `eventType`, `eventId` and `attempt` to each line, where the hub's logger has `child`. */
  readonly logger: Logger;
  /** How many events led to this one; 0 for an event from outside. */
  readonly depth: number;
  /** The same at every attempt at this event by this service, after a replay too, and at no other event. */
  readonly idempotencyKey: string;
}

/** Another name of {@link HandlerCtx}. */
export type HubCtx<TPayload = unknown> = HandlerCtx<TPayload>;

/** Handles one attempt. What it returns becomes the payload of `onSuccess`; what it throws is the failure. */
export type HandlerFunction<TPayload = unknown> = (ctx: HandlerCtx<TPayload>) => unknown;
