import type { StandardSchemaV1 } from '@standard-schema/spec';
import { DuplicateNameError, quote } from '../../errors.js';
import { checkName, OptionChecker } from '../../options.js';
import type { Condition, ResolvedTrigger } from '../events/condition.js';
import type { EventRef, WorkflowRef } from '../events/emit.js';
import { type EventDefinitionConfig, referencedDefinitions, resolveKeyConcurrency } from '../events/event.js';
import {
  type FollowUpNames,
  type FollowUps,
  followUpKeys,
  resolveEventName,
  resolveFollowUpNames,
} from '../events/follow-ups.js';
import type { Recorded } from '../events/payload.js';
import type { JsonSchema, PayloadSchema } from '../events/payload-schema.js';
import { handlerInfo } from '../events/reported-agents.js';
import { type ResolvedRetry, resolveRetry } from '../events/retry-policy.js';
import { checkLimit, type Limit } from '../limits/limit.js';
import {
  type ContractCancel,
  contractOptions,
  definedContract,
  type RetainOptions,
  resolveContract,
  type WorkflowContract,
  type WorkflowDefinition,
} from './define-workflow.js';
import type { RunCtx, RunScope, StepCtx, StepOptions } from './step.js';

/** Step of a workflow with a list of steps. */
export interface WorkflowStep<TPayload = unknown, TResult = unknown, TInput = unknown> extends StepOptions {
  /** 1 to 512 characters, unique within the workflow. An interrupted run finds its step by this name. */
  name: string;
  /** Handles one attempt. Its return value must be JSON and is the payload of the next step. */
  handler: (ctx: StepCtx<TPayload, TInput>) => TResult;
}

/** Event that starts the runs of a workflow. */
export interface WorkflowTrigger<TPayload = unknown> {
  /** Event type. The event's payload is the run's input. */
  event: EventRef<never, TPayload> | string;
  /**
   * Returns `true` for an event that starts a run. The service of the workflow asks once per event, at the first attempt
   * of the run, and records the verdict. A refused run completes with the result `null`, counts as `filtered`, and is not
   * retained. If the function throws, the run fails. @default every event
   */
  when?(payload: TPayload): boolean;
}

/** Events that start the runs of a workflow. @typeParam TEvents payloads that they store */
export type WorkflowTriggers<TEvents extends readonly unknown[]> = {
  readonly [K in keyof TEvents]: WorkflowTrigger<TEvents[K]>;
};

/** Options of `createWorkflow(definition, settings)`, without `run`: those that say how its service runs a workflow. */
export interface WorkflowSettings<TInput = never, TResult = never> extends FollowUps<TResult, TInput> {
  /** Event type that starts a run. The event's payload is the run's input. */
  trigger?: EventRef<never, TInput> | string;
  /** Events that start a run, at most 10 types, in place of `trigger`: several, or some of those of a type. */
  triggers?: readonly WorkflowTrigger<TInput>[];
  /**
   * Maximum number of runs per key that have started and not ended, suspended ones included, over all hubs of the
   * service. With 1, the runs of a key run one after the other, in the order of their acceptance. Requires a `key`, of
   * the workflow or of the event types that trigger it; runs of `startWorkflow` have that of the first one.
   * @default no limit
   */
  concurrencyPerKey?: number;
  /** Limit of every `step.run`, `step.map` and listed step that has none of its own. @default no limit */
  limit?: Limit;
  /**
   * Version of the code, a whole number. A process releases a run that a higher version has advanced, so that a process
   * with that version resumes it. @default 1
   */
  version?: number;
}

/** Options of `createWorkflow`, without `run` and `steps`. */
export interface WorkflowConfig<TInput = never, TResult = never, TStart = TInput>
  extends WorkflowSettings<TInput, TResult> {
  /** 1 to 512 characters without control characters and unpaired surrogates. */
  name: string;
  /** Text that the dashboard shows. */
  description?: string;
  /** Schema of the input: a Standard Schema, such as one of Zod, or a JSON Schema. */
  input?: StandardSchemaV1<TStart, TInput> | JsonSchema;
  /**
   * Returns the key of a run from its input, as the function receives it: 1 to 512 characters without control characters
   * and unpaired surrogates, or `undefined` for a run that no limit per key applies to. Keys take turns. Not allowed with
   * a `trigger`: runs of such a workflow have the key that the event type computes.
   */
  key?: (input: TInput) => string | undefined;
  /**
   * Returns the tags of a run from its input, as the function receives it: at most 5 of 1 to 64 characters. `hub.search`
   * finds runs of workflows with `tags` by a tag, and by their key. Not allowed with a `trigger`: such runs are found by
   * the tags of their event. @default runs cannot be searched for
   */
  tags?: (input: TInput) => readonly string[];
  /** Lets everyone who may read the dashboard search for runs by a tag, which is part of a URL. @default false */
  showTags?: boolean;
  /** Ended runs to retain. @default the newest 50 completed and 200 failed runs, of any age */
  retain?: RetainOptions;
}

/** Options of `createWorkflow` for a list of steps whose length is known only at run time. */
export interface UntypedWorkflowConfig extends Omit<WorkflowConfig, 'input' | 'trigger' | 'triggers' | 'key' | 'tags'> {
  input?: StandardSchemaV1 | JsonSchema;
  trigger?: EventRef<never, unknown> | string;
  /** Events that start a run. See {@link WorkflowSettings.triggers}. */
  triggers?: readonly WorkflowTrigger[];
  /** Returns the key of a run from its input. See {@link WorkflowConfig.key}. */
  key?: (input: unknown) => string | undefined;
  /** Returns the tags of a run from its input. See {@link WorkflowConfig.tags}. */
  tags?: (input: unknown) => readonly string[];
  /** One or more steps, which run in sequence. */
  steps: readonly WorkflowStep[];
}

/** Workflow: a function, or a list of steps, whose steps are recorded. `hub.workflow` registers it. */
export interface HubWorkflow<in TInput = unknown, out TResult = unknown>
  extends WorkflowRef<TInput, TResult>,
    WorkflowContract {
  readonly name: string;
  /** Events that start a run. */
  readonly triggers: readonly ResolvedTrigger[];
  readonly version: number;
  readonly concurrencyPerKey?: number;
  /** Limit of its steps. */
  readonly limit?: Limit;
  /** Steps of a list; empty for a workflow with a `run` function. */
  readonly steps: readonly ResolvedStep[];
  readonly followUps: FollowUpNames;
  /** Definitions of its trigger and its follow-ups. */
  readonly referenced: readonly EventDefinitionConfig[];
  /** Function of the workflow. Only the hub can call it. */
  readonly run: (scope: never) => unknown;
}

/** Workflow with any types of input and result. */
export type AnyWorkflow = HubWorkflow<never>;

/** Infers the input from the payload alone: an annotated context leaves `workflow.input` unknown. */
type First<I, A> = WorkflowStep<I, A, NoInfer<I>>;
/** Step after one that returns `P`. */
type Next<I, P, A> = WorkflowStep<Recorded<Awaited<P>>, A, NoInfer<I>>;
type List<I, R, S, T extends readonly unknown[]> = WorkflowConfig<I, NoInfer<Recorded<Awaited<R>>>, S> & {
  steps: readonly [...T];
};

/**
 * Creates a workflow: a durable run of steps. After a crash, a deploy or a wait, the run resumes in any process of the
 * service, and recorded steps do not run again.
 *
 * @example
 * ```ts
 * const fulfil = createWorkflow({
 *   name: 'fulfil',
 *   input: orderSchema,
 *   run: async ({ input, step }) => {
 *     const parcels = await step.run('pick', () => pick(input), { retry: { maxAttempts: 5 } });
 *     await step.sleep('cooling-off', 86_400_000);
 *     return step.run('ship', ({ idempotencyKey }) => ship(parcels, idempotencyKey));
 *   },
 * });
 * hub.workflow(fulfil);
 * const run = await hub.startWorkflow(fulfil, order);
 * ```
 * @throws {InvalidOptionError | DuplicateNameError | InvalidSchemaError}
 */
export function createWorkflow<I, R, S = I>(
  config: WorkflowConfig<I, NoInfer<Recorded<Awaited<R>>>, S> & { run: (ctx: RunCtx<I>) => R },
): HubWorkflow<S, Recorded<Awaited<R>>>;
/** Creates a workflow that events of several types start. Its input is the payload of one of them. Throws the same errors. */
export function createWorkflow<TEvents extends readonly unknown[], R>(
  config: Omit<WorkflowConfig<TEvents[number], NoInfer<Recorded<Awaited<R>>>>, 'trigger' | 'triggers' | 'input'> & {
    input?: JsonSchema;
    triggers: WorkflowTriggers<TEvents>;
    run: (ctx: RunCtx<TEvents[number]>) => R;
  },
): HubWorkflow<TEvents[number], Recorded<Awaited<R>>>;
/** Creates the workflow of a definition. Its `run` receives and returns what the definition says. Throws the same errors. */
export function createWorkflow<S, R, I, O>(
  definition: WorkflowDefinition<S, R, I, O>,
  settings: WorkflowSettings<I, R> & { run: (ctx: RunCtx<I>) => O | Promise<O> },
): HubWorkflow<S, R>;
// TypeScript infers the payload of a step from the step before it only in a list of known length.
export function createWorkflow<I, A, S = I>(config: List<I, A, S, [First<I, A>]>): HubWorkflow<S, Recorded<Awaited<A>>>;
export function createWorkflow<I, A, B, S = I>(
  config: List<I, B, S, [First<I, A>, Next<I, A, B>]>,
): HubWorkflow<S, Recorded<Awaited<B>>>;
export function createWorkflow<I, A, B, C, S = I>(
  config: List<I, C, S, [First<I, A>, Next<I, A, B>, Next<I, B, C>]>,
): HubWorkflow<S, Recorded<Awaited<C>>>;
export function createWorkflow<I, A, B, C, D, S = I>(
  config: List<I, D, S, [First<I, A>, Next<I, A, B>, Next<I, B, C>, Next<I, C, D>]>,
): HubWorkflow<S, Recorded<Awaited<D>>>;
export function createWorkflow<I, A, B, C, D, E, S = I>(
  config: List<I, E, S, [First<I, A>, Next<I, A, B>, Next<I, B, C>, Next<I, C, D>, Next<I, D, E>]>,
): HubWorkflow<S, Recorded<Awaited<E>>>;
export function createWorkflow<I, A, B, C, D, E, F, S = I>(
  config: List<I, F, S, [First<I, A>, Next<I, A, B>, Next<I, B, C>, Next<I, C, D>, Next<I, D, E>, Next<I, E, F>]>,
): HubWorkflow<S, Recorded<Awaited<F>>>;
export function createWorkflow<I, A, B, C, D, E, F, G, S = I>(
  config: List<
    I,
    G,
    S,
    [First<I, A>, Next<I, A, B>, Next<I, B, C>, Next<I, C, D>, Next<I, D, E>, Next<I, E, F>, Next<I, F, G>]
  >,
): HubWorkflow<S, Recorded<Awaited<G>>>;
export function createWorkflow<I, A, B, C, D, E, F, G, H, S = I>(
  config: List<
    I,
    H,
    S,
    [
      First<I, A>,
      Next<I, A, B>,
      Next<I, B, C>,
      Next<I, C, D>,
      Next<I, D, E>,
      Next<I, E, F>,
      Next<I, F, G>,
      Next<I, G, H>,
    ]
  >,
): HubWorkflow<S, Recorded<Awaited<H>>>;
// With `run` it is the first signature again: TypeScript reports the errors of the last one.
/** Creates a workflow of a list whose length is known only at run time, or of more than eight steps: payloads are `unknown`. */
export function createWorkflow<I, R, S = I>(
  config:
    | (UntypedWorkflowConfig & { run?: never })
    | (WorkflowConfig<I, NoInfer<Recorded<Awaited<R>>>, S> & { run: (ctx: RunCtx<I>) => R; steps?: never }),
): HubWorkflow;
export function createWorkflow(
  config: AnyConfig | WorkflowDefinition,
  settings?: AnySettings,
): HubWorkflow<unknown, never> {
  const contract = definedContract(config);
  // Only a definition lacks the options of a workflow.
  return contract === undefined ? createOwn(config as AnyConfig) : implement(contract, settings ?? {});
}

function createOwn(config: AnyConfig): HubWorkflow<unknown, never> {
  checkName(config?.name, 'name of a workflow');
  const owner = `workflow ${quote(config.name)}`;
  const check = new OptionChecker(config, [...workflowOptions, 'run', 'steps'], owner);
  check.function('run', config.run);
  const isOneOfBoth = (config.run === undefined) !== (config.steps === undefined);
  check.that(isOneOfBoth, 'run or steps', 'given, one of the two', config.run);
  return resolveWorkflow(resolveContract(config, check, owner), config, check, owner);
}

function implement(contract: WorkflowContract, settings: AnySettings): HubWorkflow<unknown, never> {
  const owner = `workflow ${quote(contract.name)}`;
  const check = new OptionChecker(settings, [...settingOptions, ...contractOptions, 'run'], owner);
  for (const option of contractOptions) {
    const value: unknown = Reflect.get(settings, option);
    check.that(value === undefined, option, 'omitted, because it belongs to the definition', value);
  }
  check.required('run', settings.run);
  check.function('run', settings.run);
  return resolveWorkflow(contract, settings, check, owner);
}

function resolveWorkflow(
  contract: WorkflowContract,
  settings: AnySettings,
  check: OptionChecker,
  owner: string,
): HubWorkflow<unknown, never> {
  const { key, tags, receives, cancelOn, overlap } = contract;
  const { version = 1, limit } = settings;
  if (limit !== undefined) checkLimit(limit, `limit of ${owner}`);
  check.count('version', version);
  const triggers = resolveTriggers(settings, check, owner);
  const [trigger] = triggers;
  check.that(key === undefined || trigger === undefined, 'key', 'omitted if there is a trigger', key);
  check.that(tags === undefined || trigger === undefined, 'tags', 'omitted if there is a trigger', tags);
  check.that(
    (receives === undefined && cancelOn === undefined) || trigger === undefined,
    'trigger',
    'omitted, because the definition has receives or cancelOn',
    trigger?.type,
  );
  const concurrencyPerKey = resolveKeyConcurrency(settings.concurrencyPerKey, overlap, check);
  const hasKey = key !== undefined || trigger !== undefined;
  check.that(concurrencyPerKey === undefined || hasKey, 'key', 'set if concurrencyPerKey is', key);
  const steps = settings.steps === undefined ? [] : resolveSteps(settings.steps, owner, check);
  // The function that is not a list was checked above.
  const run = settings.run as ((ctx: RunCtx) => unknown) | undefined;
  return {
    ...contract,
    triggers,
    ...(concurrencyPerKey !== undefined && { concurrencyPerKey }),
    ...(limit !== undefined && { limit }),
    version,
    steps,
    followUps: resolveFollowUpNames(settings, owner),
    referenced: referencedDefinitions(settings),
    // The overloads give the workflow the types of its function.
    run: run === undefined ? (scope: RunScope) => runStepList(steps, scope) : ({ ctx }: RunScope) => run(ctx),
  };
}

const maxTriggers = 10;

function resolveTriggers(
  { trigger, triggers }: Pick<AnySettings, 'trigger' | 'triggers'>,
  check: OptionChecker,
  owner: string,
): readonly ResolvedTrigger[] {
  const single = resolveEventName(trigger, `trigger of ${owner}`);
  if (triggers === undefined) return single === undefined ? [] : [{ type: single }];
  check.that(single === undefined, 'trigger', 'omitted if there are triggers', single);
  const isList = Array.isArray(triggers) && triggers.length >= 1 && triggers.length <= maxTriggers;
  check.that(isList, 'triggers', `a list of 1 to ${maxTriggers} events`, triggers);
  const resolved = triggers.map((each) => {
    const option = new OptionChecker(each, ['event', 'when'], owner, 'triggers');
    option.required('event', each.event);
    option.function('when', each.when);
    const type = resolveEventName(each.event, `triggers.event of ${owner}`) ?? '';
    return { type, ...(each.when !== undefined && { when: each.when }) };
  });
  const types = resolved.map(({ type }) => type);
  const repeated = types.find((type, index) => types.indexOf(type) !== index);
  check.that(repeated === undefined, 'triggers', 'a list without two events of a type', repeated);
  return resolved;
}

/** Returns `true` for a result of {@link createWorkflow}. */
export function isWorkflow(value: unknown): value is AnyWorkflow {
  return typeof value === 'object' && value !== null && 'name' in value && 'steps' in value && 'followUps' in value;
}

interface AnySettings extends Partial<Record<'trigger' | 'onSuccess' | 'onFailure' | 'onComplete' | 'run', unknown>> {
  triggers?: readonly { readonly event: unknown; readonly when?: Condition }[];
  concurrencyPerKey?: number;
  limit?: Limit;
  version?: number;
  steps?: readonly unknown[];
}

interface AnyConfig extends AnySettings {
  name: string;
  description?: string;
  input?: StandardSchemaV1 | JsonSchema;
  key?: (input: never) => unknown;
  tags?: (input: never) => unknown;
  showTags?: boolean;
  retain?: RetainOptions;
}

const settingOptions: readonly string[] = [
  ...(['trigger', 'triggers', 'concurrencyPerKey', 'limit', 'version'] as const),
  ...followUpKeys,
];

/** Options of every workflow. */
export const workflowOptions: readonly string[] = [
  'name',
  'description',
  'input',
  'key',
  'tags',
  'showTags',
  'retain',
  ...settingOptions,
];

function resolveSteps(steps: readonly unknown[], owner: string, check: OptionChecker): ResolvedStep[] {
  check.that(Array.isArray(steps) && steps.length > 0, 'steps', 'an array of one or more steps', steps);
  const resolved = steps.map((step) => resolveStep(step as WorkflowStep, owner));
  const names = resolved.map((step) => step.name);
  const duplicate = names.find((step, index) => names.indexOf(step) !== index);
  if (duplicate !== undefined) throw new DuplicateNameError(`step of ${owner}`, duplicate);
  return resolved;
}

function resolveStep(step: WorkflowStep, owner: string): ResolvedStep {
  checkName(step?.name, `name of a step of ${owner}`);
  const { name, handler, retry, timeoutMs } = step;
  const stepOwner = `step ${quote(name)} of ${owner}`;
  const check = new OptionChecker(step, ['name', 'handler', 'retry', 'timeoutMs'], stepOwner);
  check.required('handler', handler);
  check.function('handler', handler);
  check.durationMs('timeoutMs', timeoutMs, { min: 1 });
  const stage = handlerInfo(handler)?.stage;
  return {
    name,
    handler,
    ...(retry !== undefined && { retry: resolveRetry(retry, stepOwner) }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(stage !== undefined && { stage }),
  };
}

/** Checked step of a list. */
export interface ResolvedStep {
  readonly name: string;
  /** Handler of the step. */
  readonly handler: (ctx: StepCtx) => unknown;
  readonly retry?: ResolvedRetry;
  readonly timeoutMs?: number;
  /** Steps with the same stage run at the same time. */
  readonly stage?: number;
}

/** Result that a conditional step returns to be skipped: it is recorded, so that a replay does not decide again. */
export const skippedStep: { readonly skipped: true } = { skipped: true };
const skippedJson = JSON.stringify(skippedStep);

/**
 * Runs the steps of a list in sequence, each with the output of the step before as its payload. Steps of one stage run
 * at the same time, with the same payload, and their output is an object of their outputs by step name.
 */
async function runStepList(steps: readonly ResolvedStep[], scope: RunScope): Promise<unknown> {
  const outputs = new Map<string, string>();
  let payload = scope.body;
  const run = async (step: ResolvedStep): Promise<string | undefined> => {
    const { name, handler, retry, timeoutMs } = step;
    const info = handlerInfo(handler);
    const options = { retry, timeoutMs, view: { payload, outputs: new Map(outputs) } };
    const output = await (info?.isDurable === true
      ? scope.runContaining(name, handler, options)
      : scope.runStep(name, handler, options));
    return info?.isConditional === true && output === skippedJson ? undefined : output;
  };
  for (const stage of stagesOf(steps)) {
    const results = await allOf(stage.map(run));
    const ran = stage.flatMap(({ name }, index) => {
      const output = results[index];
      return output === undefined ? [] : [{ name, output }];
    });
    for (const { name, output } of ran) outputs.set(name, output);
    if (ran.length > 0) payload = isParallel(stage) ? joinOutputs(ran) : (ran[0]?.output ?? payload);
  }
  return JSON.parse(payload);
}

/** Waits for all: a step that is not awaited would lose its result. Rejects with the first error in their order. */
async function allOf<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}

function stagesOf(steps: readonly ResolvedStep[]): ResolvedStep[][] {
  const stages: ResolvedStep[][] = [];
  for (const step of steps) {
    const last = stages.at(-1);
    if (step.stage !== undefined && last?.[0]?.stage === step.stage) last.push(step);
    else stages.push([step]);
  }
  return stages;
}

function isParallel([first]: readonly ResolvedStep[]): boolean {
  return first?.stage !== undefined;
}

function joinOutputs(outputs: readonly { readonly name: string; readonly output: string }[]): string {
  return `{${outputs.map(({ name, output }) => `${JSON.stringify(name)}:${output}`).join(',')}}`;
}

/** Function whose steps are recorded, and the outcome of its runs. A workflow is one. */
export interface RunDefinition {
  /** Name of the workflow, or type of the event. */
  readonly name: string;
  readonly version: number;
  readonly input?: PayloadSchema;
  readonly cancelOn?: readonly ContractCancel[];
  /** Schema of the result. */
  readonly output?: PayloadSchema;
  readonly followUps: FollowUpNames;
  readonly limit?: Limit;
  readonly run: (scope: never) => unknown;
  /** Events that start a run. */
  readonly triggers?: readonly ResolvedTrigger[];
  /** Condition of the handler, of a run that is an event's. */
  readonly when?: Condition;
  /** The run is an event's. */
  readonly isEvent?: true;
  /** Retry policy of the run. Recorded steps do not run again. @default one attempt */
  readonly retry?: ResolvedRetry | undefined;
}
