import type { HandlerFunction } from '../../events/context.js';
import type { ResolvedRetry } from '../../events/definition/retry-policy.js';
import type { RunCtx } from './step.js';
import type { StepContext, StepView } from './step-context.js';

/** Checked options of a step. */
export interface ResolvedStepOptions {
  readonly retry?: ResolvedRetry | undefined;
  readonly timeoutMs?: number | undefined;
  readonly view?: StepView | undefined;
}

/** Access of a workflow's function to its run. */
export interface RunScope {
  readonly ctx: RunCtx;
  /** JSON of the input. */
  readonly body: string;
  /** Runs a step and resolves with its result as JSON. */
  runStep(name: string, call: (ctx: StepContext) => unknown, options: ResolvedStepOptions): Promise<string>;
  /** Runs a step whose function records steps of its own, and resolves with its result as JSON. */
  runContaining(name: string, call: (ctx: StepContext) => unknown, options: ResolvedStepOptions): Promise<string>;
  /** Calls the handler of an event. */
  handle(handler: HandlerFunction, timeoutMs: number | undefined): Promise<unknown>;
}

/** Function that a workflow runs. Its return value is the result of the run. */
export type RunFunction = (scope: RunScope) => unknown;
