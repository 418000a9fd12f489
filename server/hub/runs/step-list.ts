import type { ResolvedRetry } from '../events/retry-policy.js';
import type { RunScope } from './run-scope.js';
import type { StepCtx } from './step.js';

/** Checked step of a list. */
export interface ResolvedStep {
  readonly name: string;
  /** Handler of the step. */
  readonly handler: (ctx: StepCtx) => unknown;
  readonly retry?: ResolvedRetry;
  readonly timeoutMs?: number;
}

/** Runs the steps of a list in sequence, each with the output of the step before as its payload. */
export async function runStepList(steps: readonly ResolvedStep[], { body, runStep }: RunScope): Promise<unknown> {
  const outputs = new Map<string, string>();
  let payload = body;
  for (const { name, handler, retry, timeoutMs } of steps) {
    const view = { payload, outputs: new Map(outputs) };
    payload = await runStep(name, handler, { retry, timeoutMs, view });
    outputs.set(name, payload);
  }
  return JSON.parse(payload);
}
