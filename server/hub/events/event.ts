import type { StandardSchemaV1 } from '@standard-schema/spec';
import { quote } from '../../errors.js';
import { checkName, OptionChecker } from '../../options.js';
import type { RateLimit } from '../../transports/delivery.js';
import { InvalidKeyError } from '../errors.js';
import type { HandlerFunction } from './context.js';
import type { EventRef } from './emit.js';
import { type FollowUpNames, type FollowUps, followUpKeys, resolveFollowUpNames } from './follow-ups.js';
import type { Recorded } from './payload.js';
import { type JsonSchema, type PayloadSchema, resolveSchema } from './payload-schema.js';
import { type ResolvedRetry, type RetryConfig, resolveRetry } from './retry-policy.js';

/** Maximum rate of attempts. */
export interface EventRate extends RateLimit {
  /** Applies the limit to each key instead of the type. Requires `key`. @default false */
  perKey?: boolean;
}

/**
 * Options of `hub.event`. All except `type`, `description`, `schema`, `key`, `subscribers` and `dedupeWindowMs` require
 * a `handler`.
 */
export interface EventConfig<TPayload = unknown, TResult = unknown>
  extends FollowUps<NoInfer<Recorded<Awaited<TResult>>>, TPayload> {
  /** 1 to 512 characters without control characters and unpaired surrogates. */
  type: string;
  /** Text that the dashboard shows. */
  description?: string;
  /**
   * Standard Schema (zod, valibot, arktype ...) or JSON Schema. `emit` rejects a payload that it does not accept.
   * Each attempt validates the payload again. The schema's transforms and defaults run before the handler.
   */
  schema?: StandardSchemaV1<unknown, TPayload> | JsonSchema;
  /**
   * Returns the key of an event from its payload, as its handler receives it: 1 to 512 characters without control
   * characters and unpaired surrogates, or `undefined` for an event that no limit per key applies to. Keys take turns:
   * no key waits for the events of another. `step.waitForEvent` finds events by their key.
   */
  key?: (payload: TPayload) => string | undefined;
  /**
   * Names of services that receive the events of this type, even those emitted before a process of the service has
   * started for the first time. Without subscribers, an event that no service handles yet counts as completed.
   */
  subscribers?: readonly string[];
  /** Function that handles the event. Without one the type is only declared: it can be emitted. */
  handler?: HandlerFunction<TPayload, TResult>;
  /** Retry policy. @default one attempt */
  retry?: RetryConfig;
  /** Maximum duration of one attempt, in milliseconds. @default no limit */
  timeoutMs?: number;
  /** Maximum number of handlers of this type that run at once, over all hubs of the service. @default the hub's */
  concurrency?: number;
  /**
   * Maximum number of events per key that have started and not ended, over all hubs of the service. With 1, the events
   * of a key run one after the other, in the order of their acceptance: a retry keeps the next event of the key waiting.
   * Requires `key`. @default no limit
   */
  concurrencyPerKey?: number;
  /** Maximum rate of attempts of this type, retries included, over all hubs of the service. @default no limit */
  rate?: EventRate;
  /**
   * Delays an event until this many milliseconds have passed without another event of its key, or of the type if it has
   * no `key`. Each of those replaces the payload of the waiting event and counts as deduplicated. @default 0
   */
  debounceMs?: number;
  /** Maximum time in milliseconds that `debounceMs` delays an event. @default no limit */
  debounceMaxMs?: number;
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
  readonly key?: (payload: unknown) => unknown;
  readonly subscribers: readonly string[];
  readonly handler?: HandlerFunction;
  readonly retry?: ResolvedRetry;
  readonly timeoutMs?: number;
  readonly concurrency?: number;
  readonly concurrencyPerKey?: number;
  readonly rate?: EventRate;
  readonly debounceMs?: number;
  readonly debounceMaxMs?: number;
  readonly dedupeWindowMs: number;
  readonly followUps: FollowUpNames;
}

/** Default of {@link EventConfig.dedupeWindowMs}. */
export const defaultDedupeWindowMs = 300_000;

const maxRate = 1_000_000;

/** Options that require a handler. */
const needHandler: readonly Exclude<
  keyof EventConfig,
  'type' | 'description' | 'schema' | 'key' | 'handler' | 'subscribers' | 'dedupeWindowMs'
>[] = [
  ...followUpKeys,
  'retry',
  'timeoutMs',
  'concurrency',
  'concurrencyPerKey',
  'rate',
  'debounceMs',
  'debounceMaxMs',
];
const eventOptions = [
  'type',
  'description',
  'schema',
  'key',
  'subscribers',
  'handler',
  'dedupeWindowMs',
  ...needHandler,
];
const maxSubscribers = 100;

/** Checks the options of an event and fills in defaults. @throws {InvalidOptionError | InvalidSchemaError} */
export function resolveEvent(config: EventConfig): RegisteredEvent {
  checkName(config?.type, 'type of hub.event');
  const { type, description, schema, key, handler, retry, timeoutMs, concurrency, rate } = config;
  const { subscribers = [], concurrencyPerKey, debounceMs, debounceMaxMs } = config;
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
  check.function('key', key);
  checkSubscribers(subscribers, check, owner);
  check.count('concurrency', concurrency);
  check.count('concurrencyPerKey', concurrencyPerKey);
  check.that(concurrencyPerKey === undefined || key !== undefined, 'key', 'set if concurrencyPerKey is', key);
  check.durationMs('debounceMs', debounceMs, { min: 1 });
  check.durationMs('debounceMaxMs', debounceMaxMs, { min: debounceMs ?? 1 });
  check.that(
    debounceMaxMs === undefined || debounceMs !== undefined,
    'debounceMs',
    'set if debounceMaxMs is',
    undefined,
  );
  check.durationMs('dedupeWindowMs', dedupeWindowMs, { min: 1 });
  return {
    type,
    dedupeWindowMs,
    subscribers,
    followUps: resolveFollowUpNames(config, owner),
    ...(description !== undefined && { description }),
    ...(schema !== undefined && { schema: resolveSchema(schema, owner) }),
    // The schema, or the caller's claim, ensures that the payload has the parameter's type.
    ...(key !== undefined && { key: key as (payload: unknown) => unknown }),
    ...(handler !== undefined && { handler }),
    ...(retry !== undefined && { retry: resolveRetry(retry, owner) }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(concurrency !== undefined && { concurrency }),
    ...(rate !== undefined && { rate: resolveRate(rate, owner, key !== undefined) }),
    ...(concurrencyPerKey !== undefined && { concurrencyPerKey }),
    ...(debounceMs !== undefined && { debounceMs }),
    ...(debounceMaxMs !== undefined && { debounceMaxMs }),
  };
}

function checkSubscribers(subscribers: readonly string[], check: OptionChecker, owner: string): void {
  const isList = Array.isArray(subscribers) && subscribers.length <= maxSubscribers;
  check.that(isList, 'subscribers', `an array of at most ${maxSubscribers} names of services`, subscribers);
  for (const service of subscribers) checkName(service, `subscribers of ${owner}`);
}

function resolveRate(rate: EventRate, owner: string, hasKey: boolean): EventRate {
  const check = new OptionChecker(rate, ['max', 'perMs', 'perKey'], owner, 'rate');
  const { max, perMs, perKey = false } = rate;
  check.required('max', max);
  check.required('perMs', perMs);
  check.count('max', max, { max: maxRate });
  check.durationMs('perMs', perMs, { min: 1 });
  check.boolean('perKey', perKey);
  check.that(!perKey || hasKey, 'perKey', 'omitted if the event has no key', perKey);
  return { max, perMs, ...(perKey && { perKey }) };
}

const definitionKey: unique symbol = Symbol.for('hubline.event-definition');

const definitionOptions = ['type', 'description', 'schema', 'key', 'dedupeWindowMs'] as const;

type DefinitionOptions = (typeof definitionOptions)[number];

/** Options of `createEvent`: those of `hub.event` that say what an event is, and not how it is handled. */
export type EventDefinitionConfig<TPayload = unknown> = Pick<EventConfig<TPayload>, DefinitionOptions>;

/** Options of `hub.event(definition, settings)`: those that say how an event is handled. */
export type EventSettings<TPayload = unknown, TResult = unknown> = Omit<
  EventConfig<TPayload, TResult>,
  DefinitionOptions
>;

/**
 * Definition of an event that several processes share: one that emits it and one that handles it.
 *
 * @typeParam TInput payload that `emit` accepts
 * @typeParam TPayload payload that handlers receive
 */
export interface EventDefinition<TInput = unknown, TPayload = TInput> extends EventRef<TInput, TPayload> {
  readonly [definitionKey]: EventDefinitionConfig<TPayload>;
}

/**
 * Creates a definition of an event, to be registered with `hub.event` in every process that emits or handles it.
 *
 * @example
 * ```ts
 * export const orderPlaced = createEvent({
 *   type: 'order.placed',
 *   schema: z.object({ id: z.string(), customerId: z.string() }),
 *   key: ({ customerId }) => customerId,
 * });
 *
 * web.event(orderPlaced);
 * worker.event(orderPlaced, { concurrencyPerKey: 1, handler: ({ payload }) => pack(payload.id) });
 * ```
 * @throws {InvalidOptionError | InvalidSchemaError}
 */
export function createEvent<TSchema extends StandardSchemaV1>(
  options: Omit<EventDefinitionConfig<StandardSchemaV1.InferOutput<TSchema>>, 'schema'> & { schema: TSchema },
): EventDefinition<StandardSchemaV1.InferInput<TSchema>, StandardSchemaV1.InferOutput<TSchema>>;
/**
 * Creates a definition of an event. The type argument is the type of an emitted payload; handlers receive what JSON makes of
 * it. Throws the same errors.
 */
export function createEvent<TPayload = unknown>(
  options: Omit<EventDefinitionConfig<Recorded<TPayload>>, 'schema'> & { schema?: JsonSchema },
): EventDefinition<TPayload, Recorded<TPayload>>;
/** Creates a definition of an event, with the type of its `key` function. Throws the same errors. */
export function createEvent<TPayload>(
  options: Omit<EventDefinitionConfig<TPayload>, 'schema'> & { schema?: JsonSchema },
): EventDefinition<TPayload>;
export function createEvent(options: EventDefinitionConfig): EventDefinition {
  const { type } = resolveEvent(options);
  new OptionChecker(options, definitionOptions, `the definition of event ${quote(type)}`);
  return Object.freeze({ type, [definitionKey]: options });
}

/** Returns the options that `createEvent` received; `undefined` if the value is not a definition. */
export function definitionConfig(value: unknown): EventDefinitionConfig | undefined {
  const isDefinition = typeof value === 'object' && value !== null && definitionKey in value;
  // Only `createEvent` sets this key.
  return isDefinition ? (value as EventDefinition)[definitionKey] : undefined;
}

/** Checks that settings contain only options that a definition does not. @throws {InvalidOptionError} */
export function checkSettings(type: string, settings: object = {}): void {
  new OptionChecker(settings, ['handler', 'subscribers', ...needHandler], `the settings of event ${quote(type)}`);
}

/** Event type, or workflow, with the function that computes the keys of its events or runs. */
export type KeySource = Pick<RegisteredEvent, 'type' | 'key'>;

/**
 * Returns the key of an event or a run; `undefined` if it has none.
 *
 * @param payload payload as the handler receives it
 * @throws {InvalidKeyError} if the `key` function throws or returns something else than a key
 */
export function keyOf({ type, key }: KeySource, payload: unknown): string | undefined {
  if (key === undefined) return undefined;
  try {
    const value = key(payload);
    if (value === undefined) return undefined;
    checkName(value, 'its return value');
    return String(value);
  } catch (error) {
    throw new InvalidKeyError(type, error);
  }
}
