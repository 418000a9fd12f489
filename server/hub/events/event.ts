import type { StandardSchemaV1 } from '@standard-schema/spec';
import { quote } from '../../errors.js';
import { checkName, OptionChecker } from '../../options.js';
import type { RateLimit } from '../../transports/delivery.js';
import { InvalidKeyError } from '../errors.js';
import { checkLimit, type Limit } from '../limits/limit.js';
import type { BatchHandlerFunction, BatchOptions } from './batch.js';
import type { Condition } from './condition.js';
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
 * Options of `hub.event`. All except `type`, `description`, `schema`, `key`, `overlap`, `subscribers` and
 * `dedupeWindowMs` require a `handler`.
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
   * Decides what becomes of an event if another one of its key is pending in any service: waits, is delayed, retries, runs
   * or is suspended. `queue` accepts it. `skip` does not: `emit` resolves with the id of the pending one, and the event
   * counts as deduplicated. `replace` accepts it and cancels the pending ones, with `CancelledError` and without
   * follow-ups: it starts when their handlers have returned, because `concurrencyPerKey` is 1. Decided when the event is
   * accepted, after its `dedupeId`. Replayed events are never skipped, and replace none. Requires `key`. @default 'queue'
   */
  overlap?: Overlap;
  /**
   * Returns the tags of an event from its payload, as its handler receives it: at most 5 of 1 to 64 characters.
   * `hub.search` finds events of types with `tags` by a tag, and by their key. @default events cannot be searched for
   */
  tags?: (payload: TPayload) => readonly string[];
  /**
   * Lets everyone who may read the dashboard search for the events of this type by a tag. Not for personal data: the tag is
   * part of a URL. @default false
   */
  showTags?: boolean;
  /**
   * Names of services that receive the events of this type, even those emitted before a process of the service has
   * started for the first time: their handlers, and their workflows with the type as `trigger`. Without subscribers, an
   * event that no service handles yet counts as completed.
   */
  subscribers?: readonly string[];
  /** Function that handles the event. Without one the type is only declared: it can be emitted. */
  handler?: HandlerFunction<TPayload, TResult>;
  /**
   * Returns `true` for an event that the handler receives, given the payload as the handler receives it. A service asks
   * once per event, at its first attempt, and records the verdict. A refused event completes and counts as `filtered`; it
   * takes no start of a `rate` and no permit of a `limit`, and has no follow-up. If the function throws, the attempt
   * fails. @default every event
   */
  when?(payload: TPayload): boolean;
  /** Set if the handler receives batches, see {@link BatchEventConfig}. */
  batch?: never;
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
   * Limit that an attempt takes a permit of before the handler starts, or a function that returns it for a payload, such
   * as `({ tenant }) => vendor.for(tenant)`. An event that has to wait for more than a second holds no process meanwhile.
   * An agent that handles an event has a `limit` of its own. @default no limit
   */
  limit?: Limit | ((payload: TPayload) => Limit);
  /**
   * Delays an event until this many milliseconds have passed without another event of its key, or of the type if it has
   * no `key`. Each of those replaces the payload of the waiting event and counts as deduplicated. @default 0
   */
  debounceMs?: number;
  /** Maximum time in milliseconds that `debounceMs` delays an event. @default no limit */
  debounceMaxMs?: number;
  /** Set only with `batch`, see {@link BatchEventConfig}. */
  debounceKeep?: never;
  /**
   * Time in milliseconds during which a second event with the same `dedupeId` is deduplicated.
   * @default 300_000 (five minutes)
   */
  dedupeWindowMs?: number;
}

/**
 * Options of `hub.event` for a handler that receives batches. `concurrency` is the maximum number of batches that run at
 * once, by default 10 per process; `concurrencyPerKey` that of batches of a key, each of which then has events of one key
 * alone. `rate` counts each event.
 */
export interface BatchEventConfig<TPayload = unknown>
  extends Omit<EventConfig<TPayload, null>, 'batch' | 'handler' | 'limit' | 'when' | 'debounceKeep'> {
  /** Makes the handler receive up to `max` events per call. */
  batch: BatchOptions;
  /** Function that handles a batch. What it returns is ignored: the payload of `onSuccess` is `null`. */
  handler: BatchHandlerFunction<TPayload>;
  /** Limit that a batch takes one permit of before its handler starts. @default no limit */
  limit?: Limit;
  /**
   * Events of a debounce window that the handler receives: the `'last'` one, or `'all'` of them, together in one batch if it
   * has room. Of all, each process debounces those that it received, which count as single events and not as
   * deduplicated. Needs `debounceMs`. @default 'last'
   */
  debounceKeep?: DebounceKeep;
  /** Returns `false` for an event that no batch receives: see `when` of {@link EventConfig}. @default every event */
  when?(payload: TPayload): boolean;
}

/** Events of a debounce window that a handler receives. */
export type DebounceKeep = 'last' | 'all';

/** Treatment of an event or a run while another one of its key is pending. */
export type Overlap = 'queue' | 'skip' | 'replace';

const overlaps: readonly unknown[] = [undefined, 'queue', 'skip', 'replace'] satisfies readonly (Overlap | undefined)[];

/** @throws {InvalidOptionError} unless the value is an `overlap` or absent */
export function checkOverlap(overlap: unknown, check: OptionChecker): void {
  check.that(overlaps.includes(overlap), 'overlap', "'queue', 'skip' or 'replace'", overlap);
}

/** Returns an `overlap` as envelopes have it. */
export function storedOverlap(overlap: Overlap | undefined): StoredOverlap | undefined {
  return overlap === 'queue' ? undefined : overlap;
}

/** Checks an `overlap`, and returns it as it is stored. @throws {InvalidOptionError} */
export function resolveOverlap(
  overlap: Overlap | undefined,
  hasKey: boolean,
  check: OptionChecker,
): { readonly overlap?: StoredOverlap } {
  checkOverlap(overlap, check);
  check.that(overlap === undefined || hasKey, 'key', 'set if overlap is', undefined);
  const stored = storedOverlap(overlap);
  return stored === undefined ? {} : { overlap: stored };
}

/** `overlap` as envelopes have it. */
type StoredOverlap = Exclude<Overlap, 'queue'>;

/**
 * Returns the `concurrencyPerKey` of a handler or a workflow: 1 if another event of the key replaces the one that runs,
 * so that it starts when that one has returned. @throws {InvalidOptionError}
 */
export function resolveKeyConcurrency(
  concurrencyPerKey: number | undefined,
  overlap: Overlap | undefined,
  check: OptionChecker,
): number | undefined {
  check.count('concurrencyPerKey', concurrencyPerKey);
  if (overlap !== 'replace') return concurrencyPerKey;
  const isAllowed = concurrencyPerKey === undefined || concurrencyPerKey === 1;
  check.that(isAllowed, 'concurrencyPerKey', "1 or omitted, because overlap is 'replace'", concurrencyPerKey);
  return 1;
}

/** Checked {@link EventConfig} with its defaults. */
export interface RegisteredEvent {
  readonly type: string;
  readonly description?: string;
  readonly schema?: PayloadSchema;
  readonly key?: (payload: unknown) => unknown;
  readonly overlap?: StoredOverlap;
  readonly tags?: (payload: unknown) => unknown;
  readonly showTags?: true;
  readonly subscribers: readonly string[];
  readonly handler?: HandlerFunction;
  readonly when?: Condition;
  readonly retry?: ResolvedRetry;
  readonly timeoutMs?: number;
  readonly concurrency?: number;
  readonly concurrencyPerKey?: number;
  readonly rate?: EventRate;
  readonly limit?: Limit | ((payload: unknown) => Limit);
  /** Size of the batches that the handler receives, which is a {@link BatchHandlerFunction} then. */
  readonly batch?: BatchOptions;
  readonly debounceMs?: number;
  readonly debounceMaxMs?: number;
  readonly debounceKeep?: DebounceKeep;
  readonly dedupeWindowMs: number;
  readonly followUps: FollowUpNames;
  readonly referenced: readonly EventDefinitionConfig[];
}

/** Default of {@link EventConfig.dedupeWindowMs}. */
export const defaultDedupeWindowMs = 300_000;

const maxRate = 1_000_000;
const maxBatchSize = 1_000;
const maxBatchWaitMs = 60_000;
const maxBatchSlots = 1_000;

/** Options that require a handler. */
const needHandler: readonly Exclude<keyof EventConfig, DefinitionOptions | 'handler' | 'subscribers'>[] = [
  ...followUpKeys,
  'when',
  'batch',
  'retry',
  'timeoutMs',
  'concurrency',
  'concurrencyPerKey',
  'rate',
  'limit',
  'debounceMs',
  'debounceMaxMs',
  'debounceKeep',
];
/** Options that say what an event is. */
const definitionOptions = [
  'type',
  'description',
  'schema',
  'key',
  'overlap',
  'tags',
  'showTags',
  'dedupeWindowMs',
] as const;
type DefinitionOptions = (typeof definitionOptions)[number];
const eventOptions = [...definitionOptions, 'subscribers', 'handler', ...needHandler];
const maxSubscribers = 100;

/** Checks the options of an event and fills in defaults. @throws {InvalidOptionError | InvalidSchemaError} */
export function resolveEvent(
  config: Omit<EventConfig, 'batch' | 'debounceKeep'> & {
    readonly batch?: BatchOptions;
    readonly debounceKeep?: DebounceKeep;
  },
): RegisteredEvent {
  checkName(config?.type, 'type of hub.event');
  const { type, description, schema, key, handler, retry, timeoutMs, concurrency, rate, limit } = config;
  const { subscribers = [], when, batch, debounceMs, debounceMaxMs, debounceKeep, overlap } = config;
  const { tags, showTags, dedupeWindowMs = defaultDedupeWindowMs } = config;
  const owner = `event ${quote(type)}`;
  const check = new OptionChecker(config, eventOptions, owner);
  check.string('description', description);
  check.function('handler', handler);
  check.function('when', when);
  for (const key of needHandler) {
    const isAllowed = config[key] === undefined || handler !== undefined;
    check.that(isAllowed, key, 'omitted if there is no handler', config[key]);
  }
  check.durationMs('timeoutMs', timeoutMs, { min: 1 });
  check.function('key', key);
  check.function('tags', tags);
  check.boolean('showTags', showTags);
  check.that(showTags !== true || tags !== undefined, 'tags', 'set if showTags is', tags);
  if (limit !== undefined && typeof limit !== 'function') checkLimit(limit, `limit of ${owner}`);
  checkSubscribers(subscribers, check, owner);
  const maxSlots = batch === undefined ? {} : { max: maxBatchSlots };
  check.count('concurrency', concurrency, maxSlots);
  check.count('concurrencyPerKey', config.concurrencyPerKey, maxSlots);
  if (batch !== undefined) {
    const size = new OptionChecker(batch, ['max', 'waitMs'], owner, 'batch');
    size.required('max', batch.max);
    size.required('waitMs', batch.waitMs);
    size.count('max', batch.max, { max: maxBatchSize });
    size.durationMs('waitMs', batch.waitMs, { min: 1, max: maxBatchWaitMs });
    check.that(typeof limit !== 'function', 'limit', 'a limit, because a batch has many payloads', limit);
  }
  const concurrencyPerKey = resolveKeyConcurrency(config.concurrencyPerKey, handler && overlap, check);
  check.that(concurrencyPerKey === undefined || key !== undefined, 'key', 'set if concurrencyPerKey is', key);
  check.durationMs('debounceMs', debounceMs, { min: 1 });
  check.durationMs('debounceMaxMs', debounceMaxMs, { min: debounceMs ?? 1 });
  check.that(
    debounceMaxMs === undefined || debounceMs !== undefined,
    'debounceMs',
    'set if debounceMaxMs is',
    undefined,
  );
  check.that([undefined, 'last', 'all'].includes(debounceKeep), 'debounceKeep', "'last' or 'all'", debounceKeep);
  const hasWindow = batch !== undefined && debounceMs !== undefined;
  check.that(
    debounceKeep === undefined || hasWindow,
    'debounceKeep',
    'set only with batch and debounceMs',
    debounceKeep,
  );
  const isWithout = debounceMs === undefined || overlap === undefined || overlap === 'queue';
  check.that(isWithout, 'debounceMs', `omitted, because overlap is '${overlap}'`, debounceMs);
  check.durationMs('dedupeWindowMs', dedupeWindowMs, { min: 1 });
  return {
    type,
    dedupeWindowMs,
    subscribers,
    followUps: resolveFollowUpNames(config, owner),
    referenced: referencedDefinitions(config),
    ...(description !== undefined && { description }),
    ...(schema !== undefined && { schema: resolveSchema(schema, owner) }),
    // The schema, or the caller's claim, ensures that the payload has the parameter's type.
    ...(key !== undefined && { key: key as (payload: unknown) => unknown }),
    ...resolveOverlap(overlap, key !== undefined, check),
    // As above.
    ...(tags !== undefined && { tags: tags as (payload: unknown) => unknown }),
    ...(showTags === true && { showTags }),
    ...(handler !== undefined && { handler }),
    ...(when !== undefined && { when }),
    ...(retry !== undefined && { retry: resolveRetry(retry, owner) }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(concurrency !== undefined && { concurrency }),
    ...(rate !== undefined && { rate: resolveRate(rate, owner, key !== undefined) }),
    // As above.
    ...(limit !== undefined && { limit: limit as Limit | ((payload: unknown) => Limit) }),
    ...(concurrencyPerKey !== undefined && { concurrencyPerKey }),
    ...(batch !== undefined && { batch: { max: batch.max, waitMs: batch.waitMs } }),
    ...(debounceMs !== undefined && { debounceMs }),
    ...(debounceMaxMs !== undefined && { debounceMaxMs }),
    ...(debounceKeep !== undefined && { debounceKeep }),
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

/** Options of `createEvent`: those of `hub.event` that say what an event is, and not how it is handled. */
export type EventDefinitionConfig<TPayload = unknown> = Pick<EventConfig<TPayload>, DefinitionOptions>;

/** Options of `hub.event(definition, settings)` for a handler that receives batches. */
export type BatchEventSettings<TPayload = unknown> = Omit<BatchEventConfig<TPayload>, DefinitionOptions>;

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

/** Returns the definitions that options name as a trigger, a follow-up or the event of a schedule. */
export function referencedDefinitions(options: object): readonly EventDefinitionConfig[] {
  const values = ['trigger', 'emit', ...followUpKeys].map((option): unknown => Reflect.get(options, option));
  const triggers: unknown = Reflect.get(options, 'triggers');
  if (Array.isArray(triggers)) values.push(...triggers.map((trigger: object) => Reflect.get(trigger, 'event')));
  return values.flatMap((value) => definitionConfig(value) ?? []);
}

/** Checks that settings contain only options that a definition does not. @throws {InvalidOptionError} */
export function checkSettings(type: string, settings: object = {}): void {
  new OptionChecker(settings, ['handler', 'subscribers', ...needHandler], `the settings of event ${quote(type)}`);
}

/** Event type, or workflow, with the functions that compute the keys and tags of its events or runs. */
export type KeySource = Pick<RegisteredEvent, 'type' | 'key' | 'overlap' | 'tags'>;

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
