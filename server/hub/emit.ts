import type { Receipt } from '../transports/transport.js';
import type { EventRef } from './event.js';

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
 * `deduplicated: true`.
 */
export interface Emit {
  <TPayload>(event: EventRef<TPayload>, payload: TPayload, options?: EmitOptions): Promise<Receipt>;
  (type: string, payload: unknown, options?: EmitOptions): Promise<Receipt>;
}
