import type { StandardSchemaV1 } from '@standard-schema/spec';
import { InvalidOptionError, quote } from '../../errors.js';
import { checkOptionNames } from '../../option-names.js';
import type { RateLimit } from '../../transports/transport.js';
import type { HandlerFunction } from './context.js';
import { checkNames, type FollowUpNames, followUpKeys } from './follow-ups.js';
import { type ResolvedRetry, type RetryConfig, resolveRetry } from './retry-policy.js';
import { type JsonSchema, type PayloadSchema, resolveSchema } from './schema.js';
import { checkTimeout } from './timeout.js';
import { checkTypeName } from './type-name.js';

/** What `hub.event` takes. All but `type`, `description` and `schema` needs a `handler`. */
export interface EventConfig<TPayload = unknown> extends FollowUpNames {
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
}

/** An {@link EventConfig} that was checked, with what derives from it. */
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

/** How long a `dedupeId` is remembered where nothing else is said. */
export const defaultDedupeWindowMs = 300_000;

const maxRate = 1_000_000;

const needHandler = [...followUpKeys, 'retry', 'timeoutMs', 'concurrency', 'rate'] as const;
const eventNames = ['type', 'description', 'schema', 'handler', 'dedupeWindowMs', ...needHandler];

/** Checks an event's settings. @throws {InvalidOptionError | InvalidSchemaError} */
export function resolveEvent(config: EventConfig): RegisteredEvent {
  if (typeof config !== 'object' || config === null) throw new InvalidOptionError('hub.event', 'an object', config);
  checkTypeName(config.type, 'type');
  const { type, description, schema, handler, retry, timeoutMs, concurrency, rate } = config;
  const { dedupeWindowMs = defaultDedupeWindowMs } = config;
  const owner = `event ${quote(type)}`;
  checkOptionNames(config, eventNames, owner);
  const check = (ok: boolean, option: string, expected: string, got: unknown): void => {
    if (!ok) throw new InvalidOptionError(`${option} of ${owner}`, expected, got);
  };
  for (const key of needHandler) {
    check(config[key] === undefined || handler !== undefined, key, 'left out where there is no handler', config[key]);
  }
  const isText = description === undefined || typeof description === 'string';
  check(isText, 'description', 'a string', description);
  check(handler === undefined || typeof handler === 'function', 'handler', 'a function', handler);
  checkTimeout(timeoutMs, owner);
  check(concurrency === undefined || isCount(concurrency), 'concurrency', 'a whole number, 1 or more', concurrency);
  if (rate !== undefined) {
    check(typeof rate === 'object' && rate !== null, 'rate', 'an object { max, perMs }', rate);
    checkOptionNames(rate, ['max', 'perMs'], `rate of ${owner}`);
    check(isCount(rate.max) && rate.max <= maxRate, 'rate.max', `a whole number from 1 to ${maxRate}`, rate.max);
    check(Number.isFinite(rate.perMs) && rate.perMs > 0, 'rate.perMs', 'milliseconds, over 0', rate.perMs);
  }
  check(
    Number.isFinite(dedupeWindowMs) && dedupeWindowMs > 0,
    'dedupeWindowMs',
    'milliseconds, over 0',
    dedupeWindowMs,
  );
  return {
    type,
    dedupeWindowMs,
    followUps: checkNames(config, owner),
    ...(description !== undefined && { description }),
    ...(schema !== undefined && { schema: resolveSchema(schema, owner) }),
    ...(handler !== undefined && { handler }),
    ...(retry !== undefined && { retry: resolveRetry(retry, owner) }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(concurrency !== undefined && { concurrency }),
    ...(rate !== undefined && { rate: { max: rate.max, perMs: rate.perMs } }),
  };
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1;
}
