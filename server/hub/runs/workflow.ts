import { DuplicateNameError, quote } from '../../errors.js';
import { checkName, OptionChecker } from '../../options.js';
import type { HandlerCtx } from '../events/context.js';
import { type FollowUpNames, followUpKeys, resolveFollowUpNames } from '../events/follow-ups.js';
import { type ResolvedRetry, type RetryConfig, resolveRetry } from '../events/retry-policy.js';

/** Run to which a step belongs. */
export interface WorkflowProgress {
  readonly name: string;
  readonly runId: string;
  /** Name of the step. */
  readonly step: string;
  /** Input of the run, which is the payload of the first step. */
  readonly input: unknown;
  /** Outputs of the earlier steps by step name. The object has no prototype. */
  readonly outputs: Readonly<Record<string, unknown>>;
}

/**
 * Context of one attempt at a step. `payload` is the output of the previous step, or the run's input for the first
 * step. `eventType` is the name of the workflow, `eventId` the id of the run, `attempt` the attempt at the step.
 */
export interface StepCtx<TPayload = unknown> extends HandlerCtx<TPayload> {
  readonly workflow: WorkflowProgress;
}

/** Step of a workflow. */
export interface WorkflowStep {
  /** 1 to 512 characters, unique within the workflow. An interrupted run finds its step by this name. */
  name: string;
  /**
   * Handles one attempt. Its return value must be JSON and is the payload of the next step. The type that a handler
   * declares for its payload is not checked against the output of the previous step.
   */
  handler(ctx: StepCtx): unknown;
  /** Retry policy of the step. @default one attempt */
  retry?: RetryConfig;
  /** Maximum duration of one attempt, in milliseconds. @default no limit */
  timeoutMs?: number;
}

/** Options of `createWorkflow`. */
export interface WorkflowConfig extends FollowUpNames {
  /** 1 to 512 characters without control characters and unpaired surrogates. */
  name: string;
  /** Text that the dashboard shows. */
  description?: string;
  /** Event type that starts a run. The event's payload is the run's input. */
  trigger?: string;
  /** One or more steps, which run in sequence. */
  steps: readonly WorkflowStep[];
}

/** Checked {@link WorkflowStep}. */
export interface ResolvedStep {
  readonly name: string;
  /** Handler of {@link WorkflowStep}. */
  readonly handler: (ctx: StepCtx) => unknown;
  readonly retry?: ResolvedRetry;
  readonly timeoutMs?: number;
}

/** Workflow: named steps that run in sequence, each with a checkpoint. `hub.workflow` registers it. */
export interface HubWorkflow {
  readonly name: string;
  readonly description?: string;
  readonly trigger?: string;
  readonly steps: readonly ResolvedStep[];
  readonly followUps: FollowUpNames;
}

/**
 * Creates a workflow.
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
  checkName(config?.name, 'name of a workflow');
  const { name, description, trigger, steps } = config;
  const owner = `workflow ${quote(name)}`;
  const check = new OptionChecker(config, ['name', 'description', 'trigger', 'steps', ...followUpKeys], owner);
  check.string('description', description);
  check.name('trigger', trigger);
  check.that(Array.isArray(steps) && steps.length > 0, 'steps', 'an array of one or more steps', steps);
  const resolved = steps.map((step: WorkflowStep) => resolveStep(step, owner));
  const names = resolved.map((step) => step.name);
  const duplicate = names.find((step, index) => names.indexOf(step) !== index);
  if (duplicate !== undefined) throw new DuplicateNameError(`step of ${owner}`, duplicate);
  return {
    name,
    ...(description !== undefined && { description }),
    ...(trigger !== undefined && { trigger }),
    steps: resolved,
    followUps: resolveFollowUpNames(config, owner),
  };
}

/** Returns `true` for a result of {@link createWorkflow}. */
export function isWorkflow(value: unknown): value is HubWorkflow {
  return typeof value === 'object' && value !== null && 'name' in value && 'steps' in value && 'followUps' in value;
}

function resolveStep(step: WorkflowStep, owner: string): ResolvedStep {
  checkName(step?.name, `name of a step of ${owner}`);
  const { name, handler, retry, timeoutMs } = step;
  const stepOwner = `step ${quote(name)} of ${owner}`;
  const check = new OptionChecker(step, ['name', 'handler', 'retry', 'timeoutMs'], stepOwner);
  check.required('handler', handler);
  check.function('handler', handler);
  check.durationMs('timeoutMs', timeoutMs, { min: 1 });
  return {
    name,
    handler,
    ...(retry !== undefined && { retry: resolveRetry(retry, stepOwner) }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  };
}
