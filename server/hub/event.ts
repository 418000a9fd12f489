import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { RateLimit } from '../transports/transport.js';
import type { HandlerFunction } from './context.js';
import type { RetryConfig } from './retry-policy.js';
import type { JsonSchema } from './schema.js';

declare const payloadType: unique symbol;

/** A registered event type; carries the type of payload that `emit` takes for it. */
export interface EventRef<TPayload = unknown> {
  readonly type: string;
  /** Never present: it holds the type for the compiler alone. */
  readonly [payloadType]?: (payload: TPayload) => void;
}

/** What `hub.event` takes. */
export interface EventConfig<TPayload = unknown> {
  /** 1 to 512 characters, none of them a control character. */
  type: string;
  /** Shown on the dashboard. */
  description?: string;
  /** A Standard Schema (zod, valibot, arktype ...) or a JSON Schema. Checked at `emit` and before the handler. */
  schema?: StandardSchemaV1<unknown, TPayload> | JsonSchema;
  /** Without one the type is only declared: it may be emitted, here or as a follow-up. */
  handler?: HandlerFunction<TPayload>;
  /** @default one attempt */
  retry?: RetryConfig;
  /** Milliseconds an attempt may take. @default no limit */
  timeoutMs?: number;
  /** Handlers of this type running at once, over all hubs of the service. @default the hub's */
  concurrency?: number;
  /** Starts of this type, retries included, over all hubs of the service. @default no limit */
  rate?: RateLimit;
  /** How long a `dedupeId` is remembered. @default 300_000 (five minutes) */
  dedupeWindowMs?: number;
  /** Type emitted after success, with what the handler returned (`null` for nothing) as its payload. */
  onSuccess?: string;
  /** Type emitted after terminal failure, with `{ error: { name, message, code? }, payload }`. */
  onFailure?: string;
  /** Type emitted after either, with `{ status, result?, error?, payload }`. */
  onComplete?: string;
}
