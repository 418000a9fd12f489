import { handlerInfo } from '../../events/agent-support/handler-info.js';
import type { ResolvedRetry } from '../../events/definition/retry-policy.js';
import type { RunScope } from './run-scope.js';
import type { StepCtx } from './step.js';

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
export async function runStepList(steps: readonly ResolvedStep[], scope: RunScope): Promise<unknown> {
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
