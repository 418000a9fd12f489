/**
 * Errors of workflow runs and their steps.
 *
 * @module
 */
import { type ErrorInfo, HubError, quote } from '../../errors.js';

/**
 * A step failed and is not retried. `step.run` and the other functions of `step` reject with it, with the same fields
 * on every replay of the run. A run that does not catch it fails with `failure`.
 */
export class StepFailedError extends HubError {
  /** Id of the step. */
  readonly step: string;
  /** Number of attempts, 1 or more. */
  readonly attempts: number;
  /** Error of the last attempt. */
  readonly failure: ErrorInfo;

  constructor(step: string, attempts: number, failure: ErrorInfo) {
    const count = attempts === 1 ? '1 attempt' : `${attempts} attempts`;
    super('ERR_STEP_FAILED', `step ${quote(step)} failed after ${count}: ${failure.name}: ${failure.message}`);
    this.step = step;
    this.attempts = attempts;
    this.failure = failure;
  }
}

/** A workflow run exceeds a limit that bounds its memory. */
export class RunLimitError extends HubError {
  constructor(workflow: string, exceeded: string, limit: string) {
    super('ERR_RUN_LIMIT', `a run of workflow ${quote(workflow)} has ${exceeded}, more than the limit of ${limit}`);
  }
}
