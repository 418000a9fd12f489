import type { StandardSchemaV1 } from '@standard-schema/spec';
import { InvalidOptionError, quote } from '../../errors.js';
import { checkName, OptionChecker } from '../../options.js';
import type { RunRetention } from '../../transports/delivery.js';
import type { EventRef, WorkflowRef } from '../events/emit.js';
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
   * Events that a run keeps from its acceptance on, at most 10 types: each event of the key, until `step.waitForEvent`
   * takes it, the oldest first. Without it a wait receives only events that are accepted after it began. A run keeps at
   * most 1,000 events and 1 MiB of payloads; beyond that the oldest is dropped. Not allowed with a `trigger`.
   */
  receives?: readonly ReceivedEvents<TInput>[];
  /** Ended runs to retain. @default the newest 50 completed and 200 failed runs, of any age */
  retain?: RetainOptions;
}

/** Checked {@link ReceivedEvents}. */
export interface ContractReceives {
  readonly type: string;
  /** Returns the key of the events from the input. */
  readonly key: (input: never) => unknown;
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
  /** Types of the events that a run keeps, each with the function that computes their key. */
  readonly receives?: readonly ContractReceives[];
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
export function defineWorkflow<TInput extends StandardSchemaV1, TOutput extends StandardSchemaV1 = StandardSchemaV1>(
  options: Omit<WorkflowDefinitionConfig<StandardSchemaV1.InferOutput<TInput>>, 'input' | 'output'> & {
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
export function defineWorkflow<TOutput extends StandardSchemaV1>(
  options: Omit<WorkflowDefinitionConfig<unknown>, 'input' | 'output'> & { input?: JsonSchema; output: TOutput },
): WorkflowDefinition<
  unknown,
  Recorded<StandardSchemaV1.InferOutput<TOutput>>,
  unknown,
  StandardSchemaV1.InferInput<TOutput>
>;
/** Creates a definition of a workflow. The type arguments are those of its input and its result. Throws the same errors. */
export function defineWorkflow<TInput = unknown, TResult = unknown>(
  options: Omit<WorkflowDefinitionConfig<TInput>, 'input' | 'output'> & { input?: JsonSchema; output?: JsonSchema },
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
  ...(['name', 'service', 'description', 'input', 'output', 'key', 'receives', 'retain'] as const),
];

/** Checks the values of the options of a definition. @throws {InvalidOptionError | InvalidSchemaError} */
export function resolveContract(
  options: Omit<WorkflowDefinitionConfig, 'key' | 'receives'> & {
    key?: (input: never) => unknown;
    receives?: readonly ReceivedEvents<never>[];
  },
  check: OptionChecker,
  owner: string,
): WorkflowContract {
  const { name, service, description, input, output, key, receives, retain } = options;
  check.string('description', description);
  check.function('key', key);
  return {
    name,
    ...(description !== undefined && { description }),
    ...(service !== undefined && { service }),
    ...(input !== undefined && { input: resolveSchema(input, owner) }),
    ...(output !== undefined && { output: resolveSchema(output, owner, 'result') }),
    ...(key !== undefined && { key }),
    ...(receives !== undefined && { receives: resolveReceives(receives, check, owner) }),
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
