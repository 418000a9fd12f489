import { DuplicateNameError, InvalidOptionError, quote } from '../../errors.js';
import { checkOptionNames } from '../../option-names.js';
import type { HandlerCtx } from '../events/context.js';
import { checkNames, type FollowUpNames, followUpKeys } from '../events/follow-ups.js';
import { type ResolvedRetry, type RetryConfig, resolveRetry } from '../events/retry-policy.js';
import { checkTimeout } from '../events/timeout.js';
import { checkTypeName } from '../events/type-name.js';

/** The run that a step belongs to. */
export interface WorkflowProgress {
  readonly name: string;
  readonly runId: string;
  /** Name of the step. */
  readonly step: string;
  /** Payload of the run, as the first step gets it. */
  readonly input: unknown;
  /** What each earlier step returned, by its name. Has no prototype. */
  readonly outputs: Readonly<Record<string, unknown>>;
}

/**
 * What a step's handler gets: `payload` is what the step before it returned, the run's input for the
 * first; `eventType` and `eventId` are the workflow's name and the run's id; `attempt` is the step's.
 */
export interface StepCtx<TPayload = unknown> extends HandlerCtx<TPayload> {
  readonly workflow: WorkflowProgress;
}

/** One step of a workflow. */
export interface WorkflowStep {
  /** 1 to 512 characters; unique in the workflow: a run that was interrupted goes on by this name. */
  name: string;
  /**
   * Handles one attempt. What it returns is the next step's payload and has to be JSON. Where it says
   * what payload it takes, that is its author's word: the payload comes from the step before.
   */
  handler(ctx: StepCtx): unknown;
  /** @default one attempt */
  retry?: RetryConfig;
  /** Milliseconds an attempt may take. @default no limit */
  timeoutMs?: number;
}

/** What `createWorkflow` takes. */
export interface WorkflowConfig extends FollowUpNames {
  /** 1 to 512 characters, none of them a control character. */
  name: string;
  /** Shown on the dashboard. */
  description?: string;
  /** Type of event that starts a run, its payload the run's input. */
  trigger?: string;
  /** One or more, run one after another. */
  steps: readonly WorkflowStep[];
}

/** A step that was checked. */
export interface ResolvedStep {
  readonly name: string;
  /** Handles one attempt, as {@link WorkflowStep.handler}. */
  readonly handler: (ctx: StepCtx) => unknown;
  readonly retry?: ResolvedRetry;
  readonly timeoutMs?: number;
}

/** A workflow: sequential named steps, each checkpointed. `hub.workflow` registers it. */
export interface HubWorkflow {
  readonly name: string;
  readonly description?: string;
  readonly trigger?: string;
  readonly steps: readonly ResolvedStep[];
  readonly followUps: FollowUpNames;
}

/**
 * Defines a workflow.
 *
 * @example
 * ```ts
 * const fulfil = createWorkflow({
 *   name: 'fulfil',
 *   trigger: 'order.paid',
 *   steps: [
 *     { name: 'pick', handler: ({ payload }) => pick(payload) },
 *     { name: 'ship', handler: ({ payload, idempotencyKey }) => ship(payload, idempotencyKey), retry: {} },
 *   ],
 * });
 * hub.workflow(fulfil);
 * ```
 * @throws {InvalidOptionError | DuplicateNameError}
 */
export function createWorkflow(config: WorkflowConfig): HubWorkflow {
  if (typeof config !== 'object' || config === null)
    throw new InvalidOptionError('createWorkflow', 'an object', config);
  const { name, description, trigger, steps } = config;
  checkTypeName(name, 'name of a workflow');
  const owner = `workflow ${quote(name)}`;
  checkOptionNames(config, ['name', 'description', 'trigger', 'steps', ...followUpKeys], owner);
  if (description !== undefined && typeof description !== 'string') {
    throw new InvalidOptionError(`description of ${owner}`, 'a string', description);
  }
  if (trigger !== undefined) checkTypeName(trigger, `trigger of ${owner}`);
  if (!Array.isArray(steps) || steps.length === 0) {
    throw new InvalidOptionError(`steps of ${owner}`, 'an array of one step or more', steps);
  }
  const resolved = steps.map((step: WorkflowStep) => resolveStep(step, owner));
  const names = resolved.map((step) => step.name);
  const twice = names.find((step, index) => names.indexOf(step) !== index);
  if (twice !== undefined) throw new DuplicateNameError(`step of ${owner}`, twice);
  return {
    name,
    ...(description !== undefined && { description }),
    ...(trigger !== undefined && { trigger }),
    steps: resolved,
    followUps: checkNames(config, owner),
  };
}

/** Whether it is what {@link createWorkflow} returned. */
export function isWorkflow(value: unknown): value is HubWorkflow {
  return typeof value === 'object' && value !== null && 'name' in value && 'steps' in value && 'followUps' in value;
}

function resolveStep(step: WorkflowStep, owner: string): ResolvedStep {
  if (typeof step !== 'object' || step === null) throw new InvalidOptionError(`a step of ${owner}`, 'an object', step);
  const { name, handler, retry, timeoutMs } = step;
  checkTypeName(name, `name of a step of ${owner}`);
  const stepOwner = `step ${quote(name)} of ${owner}`;
  checkOptionNames(step, ['name', 'handler', 'retry', 'timeoutMs'], stepOwner);
  if (typeof handler !== 'function') throw new InvalidOptionError(`handler of ${stepOwner}`, 'a function', handler);
  checkTimeout(timeoutMs, stepOwner);
  return {
    name,
    handler,
    ...(retry !== undefined && { retry: resolveRetry(retry, stepOwner) }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  };
}
