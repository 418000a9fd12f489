import type { StandardSchemaV1 } from '@standard-schema/spec';
import { quote } from '../../../errors.js';
import { OptionChecker } from '../../../options.js';
import type { EventRef } from '../../references/event-ref.js';
import type { JsonSchema } from '../payloads/schema.js';
import { type EventConfig, needHandler, resolveEvent } from './event.js';

const config: unique symbol = Symbol.for('hubline.event-definition');

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
  readonly [config]: EventDefinitionConfig<TPayload>;
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
/** Creates a definition of an event. The type argument is the type of its payload. Throws the same errors. */
export function createEvent<TPayload = unknown>(
  options: Omit<EventDefinitionConfig<TPayload>, 'schema'> & { schema?: JsonSchema },
): EventDefinition<TPayload>;
export function createEvent(options: EventDefinitionConfig): EventDefinition {
  const { type } = resolveEvent(options);
  new OptionChecker(options, definitionOptions, `the definition of event ${quote(type)}`);
  return Object.freeze({ type, [config]: options });
}

/** Returns the options that `createEvent` received; `undefined` if the value is not a definition. */
export function definitionConfig(value: unknown): EventDefinitionConfig | undefined {
  const isDefinition = typeof value === 'object' && value !== null && config in value;
  // Only `createEvent` sets this key.
  return isDefinition ? (value as EventDefinition)[config] : undefined;
}

/** Checks that settings contain only options that a definition does not. @throws {InvalidOptionError} */
export function checkSettings(type: string, settings: object = {}): void {
  new OptionChecker(settings, ['handler', 'subscribers', ...needHandler], `the settings of event ${quote(type)}`);
}
