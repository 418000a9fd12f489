import type { StandardSchemaV1 } from '@standard-schema/spec';
import { InvalidOptionError, quote } from '../../errors.js';
import { checkName, OptionChecker } from '../../options.js';
import type { RunRetention } from '../../transports/delivery.js';
import type { EventRef, WorkflowRef } from '../events/emit.js';
import { type Overlap, resolveOverlap } from '../events/event.js';
import { resolveEventName } from '../events/follow-ups.js';
import type { Recorded } from '../events/payload.js';
import { type JsonSchema, type PayloadSchema, resolveSchema } from '../events/payload-schema.js';

/** Ended runs that a service retains per workflow. */
export interface RetainOptions {
  /** Maximum number of completed runs. @default 50 */
  completed?: number;
  /** Maximum number of failed runs. @default 200 */
  failed?: number;
  /** Maximum time since the end of a run, in milliseconds. @default no limit */
  ageMs?: number;
}

/** Events that each run of a workflow keeps from its acceptance on. */
export interface ReceivedEvents<TInput = unknown> {
  /** Event type, which has a `key`. */
  event: EventRef<never, unknown> | string;
  /** Returns the key of the events from the input, as the function receives it; `undefined` for a run that keeps none. */
  key: (input: TInput) => string | undefined;
}

/** Event that cancels the runs of a workflow. */
export interface CancellingEvent<TInput = unknown, TPayload = unknown> {
  /** Event type. */
  event: EventRef<never, TPayload> | string;
  /**
   * Returns the key of the events from the input, as the function receives it; `undefined` for a run that they do not
   * cancel. @default any event of the type
   */
  key?: (input: TInput) => string | undefined;
  /**
   * Returns `true` for an event that cancels the run. Called once per run and event, in a process of the service that
   * runs the workflow; the event is kept until then. If it throws, the error is logged and the run continues.
   * @default each event cancels
   */
  when?(payload: TPayload): boolean;
}

/** Events that cancel the runs of a workflow. @typeParam TEvents payloads that they store */
export type CancellingEvents<TInput, TEvents extends readonly unknown[]> = {
  readonly [K in keyof TEvents]: CancellingEvent<TInput, TEvents[K]>;
};

/** Options of `defineWorkflow`. */
export interface WorkflowDefinitionConfig<TInput = unknown> {
  /** 1 to 512 characters without control characters and unpaired surrogates. */
  name: string;
  /**
   * Service that runs the workflow. It alone receives the runs, and those that were started before its first process
   * are kept for it. @default the service that registered the workflow, which must have started before
   */
  service?: string;
  /** Text that the dashboard shows. */
  description?: string;
  /** Schema of the input: a Standard Schema, such as one of Zod, or a JSON Schema. Checked where a run is started. */
  input?: StandardSchemaV1<unknown, TInput> | JsonSchema;
  /** Schema of the result, of either kind. Checked when the function returns: another result fails the run. */
  output?: StandardSchemaV1 | JsonSchema;
  /**
   * Returns the key of a run from its input, as the function receives it: 1 to 512 characters without control characters
   * and unpaired surrogates, or `undefined` for a run that no limit per key applies to. Computed where a run is started,
   * and stored with it.
   */
  key?: (input: TInput) => string | undefined;
  /**
   * Decides what becomes of a run if another one of its key is pending: waits, is delayed, retries, runs or is suspended.
   * `queue` accepts it. `skip` does not: `startWorkflow` resolves with the handle of the pending one, and the run counts as
   * deduplicated. `replace` accepts it and cancels the pending ones with their child runs, with `CancelledError` and without
   * follow-ups: it starts when their functions have returned, because `concurrencyPerKey` is 1. Decided where the run is
   * started, after its `dedupeId`; replayed runs, and child runs of `step.invoke`, are never skipped and replace none, and a
   * child run does not count as pending. Requires `key`. @default 'queue'
   */
  overlap?: Overlap;
  /**
   * Returns the tags of a run from its input, as the function receives it: at most 5 of 1 to 64 characters. `hub.search`
   * finds runs of workflows with `tags` by a tag, and by their key. Not allowed with a `trigger`: such runs are found by
   * the tags of their event. @default runs cannot be searched for
   */
  tags?: (input: TInput) => readonly string[];
  /** Lets everyone who may read the dashboard search for runs by a tag, which is part of a URL. @default false */
  showTags?: boolean;
  /**
   * Events that a run keeps from its acceptance on, at most 10 types: each event of the key, until `step.waitForEvent`
   * takes it, the oldest first. Without it a wait receives only events that are accepted after it began. A run keeps at
   * most 1,000 events and 1 MiB of payloads; beyond that the oldest is dropped. Not allowed with a `trigger`.
   */
  receives?: readonly ReceivedEvents<TInput>[];
  /**
   * Events that cancel a run and its child runs, from its acceptance on, at most 10 types: whichever process emits them,
   * and whether the run is active, suspended, or waits for its start. The service of the run decides and ends it: an active
   * run at once, others when a process takes them, before the function is called. A delayed run is not delayed any longer,
   * unless `when` has to decide. Stored with the run. Not allowed with a `trigger`.
   */
  cancelOn?: CancellingEvents<TInput, readonly unknown[]>;
  /** Ended runs to retain. @default the newest 50 completed and 200 failed runs, of any age */
  retain?: RetainOptions;
}

/** Checked {@link ReceivedEvents}. */
export interface ContractReceives {
  readonly type: string;
  /** Returns the key of the events from the input. */
  readonly key: (input: never) => unknown;
}

/** Checked {@link CancellingEvent}. */
export interface ContractCancel {
  readonly type: string;
  /** Returns the key of the events from the input. */
  readonly key?: (input: never) => unknown;
  /** Decides about an event. */
  readonly when?: (payload: never) => unknown;
}

/** Checked options of a definition. */
export interface WorkflowContract {
  readonly name: string;
  readonly description?: string;
  /** Service that runs the workflow. */
  readonly service?: string;
  readonly input?: PayloadSchema;
  readonly output?: PayloadSchema;
  /** Returns the key of a run from its input. */
  readonly key?: (input: never) => unknown;
  readonly overlap?: Exclude<Overlap, 'queue'>;
  /** Returns the tags of a run from its input. */
  readonly tags?: (input: never) => unknown;
  readonly showTags?: true;
  /** Types of the events that a run keeps, each with the function that computes their key. */
  readonly receives?: readonly ContractReceives[];
  /** Events that cancel a run. */
  readonly cancelOn?: readonly ContractCancel[];
  readonly retain: RunRetention;
}

const definitionKey: unique symbol = Symbol.for('hubline.workflow-definition');
declare const implementedType: unique symbol;

/**
 * Definition of a workflow that several processes share: one that starts or awaits its runs, and one that runs them.
 *
 * @typeParam TStart input that `startWorkflow` accepts
 * @typeParam TResult result as it was recorded
 * @typeParam TInput input that the function receives
 * @typeParam TReturn result that the function returns
 */
export interface WorkflowDefinition<in TStart = unknown, out TResult = unknown, TInput = TStart, TReturn = TResult>
  extends WorkflowRef<TStart, TResult> {
  readonly [definitionKey]: WorkflowContract;
  /** Types of the function, for the compiler. Never present at run time. */
  readonly [implementedType]?: (input: TInput) => TReturn;
}

/**
 * Creates a definition of a workflow. Any process of the transport can start, read, await, watch and cancel its runs with
 * it; the service that runs them registers `createWorkflow(definition, { run })`.
 *
 * @example
 * ```ts
 * export const fulfil = defineWorkflow({
 *   name: 'fulfil',
 *   service: 'fulfilment',
 *   input: z.object({ orderId: z.string() }),
 *   output: z.object({ tracking: z.string() }),
 * });
 *
 * worker.workflow(createWorkflow(fulfil, { run: async ({ input }) => ({ tracking: await ship(input.orderId) }) }));
 *
 * const run = await web.startWorkflow(fulfil, { orderId: 'o-1' });
 * const { tracking } = await run.result();
 * ```
 * @throws {InvalidOptionError | InvalidSchemaError}
 */
export function defineWorkflow<
  TInput extends StandardSchemaV1,
  TOutput extends StandardSchemaV1 = StandardSchemaV1,
  TEvents extends readonly unknown[] = readonly unknown[],
>(
  options: Omit<WorkflowDefinitionConfig<StandardSchemaV1.InferOutput<TInput>>, 'input' | 'output' | 'cancelOn'> & {
    cancelOn?: CancellingEvents<StandardSchemaV1.InferOutput<TInput>, TEvents>;
    input: TInput;
    output?: TOutput;
  },
): WorkflowDefinition<
  StandardSchemaV1.InferInput<TInput>,
  Recorded<StandardSchemaV1.InferOutput<TOutput>>,
  StandardSchemaV1.InferOutput<TInput>,
  StandardSchemaV1.InferInput<TOutput>
>;
/** Creates a definition of a workflow whose result alone has a Standard Schema. Throws the same errors. */
export function defineWorkflow<
  TOutput extends StandardSchemaV1,
  TEvents extends readonly unknown[] = readonly unknown[],
>(
  options: Omit<WorkflowDefinitionConfig<unknown>, 'input' | 'output' | 'cancelOn'> & {
    cancelOn?: CancellingEvents<unknown, TEvents>;
    input?: JsonSchema;
    output: TOutput;
  },
): WorkflowDefinition<
  unknown,
  Recorded<StandardSchemaV1.InferOutput<TOutput>>,
  unknown,
  StandardSchemaV1.InferInput<TOutput>
>;
/** Creates a definition of a workflow. The type arguments are those of its input and its result. Throws the same errors. */
export function defineWorkflow<
  TInput = unknown,
  TResult = unknown,
  TEvents extends readonly unknown[] = readonly unknown[],
>(
  options: Omit<WorkflowDefinitionConfig<TInput>, 'input' | 'output' | 'cancelOn'> & {
    cancelOn?: CancellingEvents<TInput, TEvents>;
    input?: JsonSchema;
    output?: JsonSchema;
  },
): WorkflowDefinition<TInput, Recorded<TResult>, TInput, TResult>;
export function defineWorkflow(options: WorkflowDefinitionConfig): WorkflowDefinition {
  checkName(options?.name, 'name of defineWorkflow');
  const { name } = options;
  const owner = `the definition of workflow ${quote(name)}`;
  const check = new OptionChecker(options, contractOptions, owner);
  check.name('service', options.service);
  return Object.freeze({ name, [definitionKey]: resolveContract(options, check, owner) });
}

/** Options that belong to a definition: they are decided where a run is accepted. */
export const contractOptions: readonly (keyof WorkflowDefinitionConfig)[] = [
  ...(['name', 'service', 'description', 'input', 'output', 'key', 'overlap', 'tags', 'showTags'] as const),
  ...(['receives', 'cancelOn', 'retain'] as const),
];

/** Checks the values of the options of a definition. @throws {InvalidOptionError | InvalidSchemaError} */
export function resolveContract(
  options: Omit<WorkflowDefinitionConfig, 'key' | 'tags' | 'receives' | 'cancelOn'> & {
    key?: (input: never) => unknown;
    tags?: (input: never) => unknown;
    receives?: readonly ReceivedEvents<never>[];
    cancelOn?: readonly UncheckedCancel[];
  },
  check: OptionChecker,
  owner: string,
): WorkflowContract {
  const { name, service, description, input, output, key, overlap, tags, showTags, receives, cancelOn, retain } =
    options;
  check.string('description', description);
  check.function('key', key);
  check.function('tags', tags);
  check.boolean('showTags', showTags);
  check.that(showTags !== true || tags !== undefined, 'tags', 'set if showTags is', tags);
  return {
    name,
    ...(description !== undefined && { description }),
    ...(service !== undefined && { service }),
    ...(input !== undefined && { input: resolveSchema(input, owner) }),
    ...(output !== undefined && { output: resolveSchema(output, owner, 'result') }),
    ...(key !== undefined && { key }),
    ...resolveOverlap(overlap, key !== undefined, check),
    ...(tags !== undefined && { tags }),
    ...(showTags === true && { showTags }),
    ...(receives !== undefined && { receives: resolveReceives(receives, check, owner) }),
    ...(cancelOn !== undefined && { cancelOn: resolveCancelOn(cancelOn, check, owner) }),
    retain: resolveRetention(retain, owner),
  };
}

const maxReceives = 10;

function resolveReceives(
  receives: readonly ReceivedEvents<never>[],
  check: OptionChecker,
  owner: string,
): readonly ContractReceives[] {
  const isList = Array.isArray(receives) && receives.length >= 1 && receives.length <= maxReceives;
  check.that(isList, 'receives', `a list of 1 to ${maxReceives} events`, receives);
  return receives.map((received) => {
    const option = new OptionChecker(received, ['event', 'key'], owner, 'receives');
    option.required('key', received.key);
    option.function('key', received.key);
    const type = resolveEventName(received.event, `receives.event of ${owner}`);
    if (type === undefined) throw new InvalidOptionError(`receives.event of ${owner}`, 'set', undefined);
    return { type, key: received.key };
  });
}

interface UncheckedCancel extends Omit<ContractCancel, 'type'> {
  readonly event: EventRef<never, unknown> | string;
}

function resolveCancelOn(
  cancelOn: readonly UncheckedCancel[],
  check: OptionChecker,
  owner: string,
): readonly ContractCancel[] {
  const isList = Array.isArray(cancelOn) && cancelOn.length >= 1 && cancelOn.length <= maxReceives;
  check.that(isList, 'cancelOn', `a list of 1 to ${maxReceives} events`, cancelOn);
  const resolved = cancelOn.map((cancelling) => {
    const option = new OptionChecker(cancelling, ['event', 'key', 'when'], owner, 'cancelOn');
    const { key, when } = cancelling;
    option.function('key', key);
    option.function('when', when);
    const type = resolveEventName(cancelling.event, `cancelOn.event of ${owner}`);
    if (type === undefined) throw new InvalidOptionError(`cancelOn.event of ${owner}`, 'set', undefined);
    return { type, ...(key !== undefined && { key }), ...(when !== undefined && { when }) };
  });
  const types = resolved.map(({ type }) => type);
  const repeated = types.find((type, index) => types.indexOf(type) !== index);
  check.that(repeated === undefined, 'cancelOn', 'a list without two events of a type', repeated);
  return resolved;
}

/** Returns the contract of a definition; `undefined` if the value is not one. */
export function definedContract(value: unknown): WorkflowContract | undefined {
  const isDefinition = typeof value === 'object' && value !== null && definitionKey in value;
  // Only `defineWorkflow` sets this key.
  return isDefinition ? (value as WorkflowDefinition)[definitionKey] : undefined;
}

function resolveRetention(retain: RetainOptions = {}, owner: string): RunRetention {
  const check = new OptionChecker(retain, ['completed', 'failed', 'ageMs'], owner, 'retain');
  const { completed = 50, failed = 200, ageMs } = retain;
  check.count('completed', completed, { min: 0, max: maxRetained });
  check.count('failed', failed, { min: 0, max: maxRetained });
  check.durationMs('ageMs', ageMs, { min: 1 });
  return { completed, failed, ...(ageMs !== undefined && { ageMs }) };
}

/** Maximum of `retain.completed` and `retain.failed`. */
const maxRetained = 100_000;
