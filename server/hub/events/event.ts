import type { StandardSchemaV1 } from '@standard-schema/spec';
import { quote } from '../../errors.js';
import { checkName, OptionChecker } from '../../options.js';
import type { RateLimit } from '../../transports/transport.js';
import type { Recorded } from '../runs/recorded-type.js';
import type { HandlerFunction } from './context.js';
import { type FollowUpNames, type FollowUps, followUpKeys, resolveFollowUpNames } from './follow-ups.js';
import { type ResolvedRetry, type RetryConfig, resolveRetry } from './retry-policy.js';
import { type JsonSchema, type PayloadSchema, resolveSchema } from './schema.js';

/** Options of `hub.event`. All except `type`, `description`, `schema` and `dedupeWindowMs` require a `handler`. */
export interface EventConfig<TPayload = unknown, TResult = unknown>
  extends FollowUps<Recorded<Awaited<TResult>>, TPayload> {
  /** 1 to 512 characters without control characters and unpaired surrogates. */
  type: string;
  /** Text that the dashboard shows. */
  description?: string;
  /**
   * Standard Schema (zod, valibot, arktype ...) or JSON Schema. `emit` rejects a payload that it does not accept.
   * Each attempt validates the payload again. The schema's transforms and defaults run before the handler.
   */
  schema?: StandardSchemaV1<unknown, TPayload> | JsonSchema;
  /** Function that handles the event. Without one the type is only declared: it can be emitted. */
  handler?: HandlerFunction<TPayload, TResult>;
  /** Retry policy. @default one attempt */
  retry?: RetryConfig;
  /** Maximum duration of one attempt, in milliseconds. @default no limit */
  timeoutMs?: number;
  /** Maximum number of handlers of this type that run at once, over all hubs of the service. @default the hub's */
  concurrency?: number;
  /** Maximum rate of attempts of this type, retries included, over all hubs of the service. @default no limit */
  rate?: RateLimit;
  /**
   * Time in milliseconds during which a second event with the same `dedupeId` is deduplicated.
   * @default 300_000 (five minutes)
   */
  dedupeWindowMs?: number;
}

/** Checked {@link EventConfig} with its defaults. */
export interface RegisteredEvent {
  readonly type: string;
  readonly description?: string;
  readonly schema?: PayloadSchema;
  readonly handler?: HandlerFunction;
  readonly retry?: ResolvedRetry;
  readonly timeoutMs?: number;
  readonly concurrency?: number;
  readonly rate?: RateLimit;
  readonly dedupeWindowMs: number;
  readonly followUps: FollowUpNames;
}

/** Default of {@link EventConfig.dedupeWindowMs}. */
export const defaultDedupeWindowMs = 300_000;

const maxRate = 1_000_000;

const needHandler = [...followUpKeys, 'retry', 'timeoutMs', 'concurrency', 'rate'] as const;
const eventOptions = ['type', 'description', 'schema', 'handler', 'dedupeWindowMs', ...needHandler];

/** Checks the options of an event and fills in defaults. @throws {InvalidOptionError | InvalidSchemaError} */
export function resolveEvent(config: EventConfig): RegisteredEvent {
  checkName(config?.type, 'type of hub.event');
  const { type, description, schema, handler, retry, timeoutMs, concurrency, rate } = config;
  const { dedupeWindowMs = defaultDedupeWindowMs } = config;
  const owner = `event ${quote(type)}`;
  const check = new OptionChecker(config, eventOptions, owner);
  check.string('description', description);
  check.function('handler', handler);
  for (const key of needHandler) {
    const isAllowed = config[key] === undefined || handler !== undefined;
    check.that(isAllowed, key, 'omitted if there is no handler', config[key]);
  }
  check.durationMs('timeoutMs', timeoutMs, { min: 1 });
  check.count('concurrency', concurrency);
  check.durationMs('dedupeWindowMs', dedupeWindowMs, { min: 1 });
  return {
    type,
    dedupeWindowMs,
    followUps: resolveFollowUpNames(config, owner),
    ...(description !== undefined && { description }),
    ...(schema !== undefined && { schema: resolveSchema(schema, owner) }),
    ...(handler !== undefined && { handler }),
    ...(retry !== undefined && { retry: resolveRetry(retry, owner) }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(concurrency !== undefined && { concurrency }),
    ...(rate !== undefined && { rate: resolveRate(rate, owner) }),
  };
}

function resolveRate(rate: RateLimit, owner: string): RateLimit {
  const check = new OptionChecker(rate, ['max', 'perMs'], owner, 'rate');
  const { max, perMs } = rate;
  check.required('max', max);
  check.required('perMs', perMs);
  check.count('max', max, { max: maxRate });
  check.durationMs('perMs', perMs, { min: 1 });
  return { max, perMs };
}
