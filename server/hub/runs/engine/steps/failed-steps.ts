import type { ErrorInfo } from '../../../../errors.js';
import { StepFailedError } from '../../errors.js';

/** Maximum number of causes that are followed from an error. */
const maxCauses = 10;

/** Source of the error that ended a run. */
export interface FailureSource {
  /** Slot of the step that failed. */
  readonly slot: string;
  /** Name of that step. */
  readonly step: string;
  /** Error that the run records. */
  readonly failure: ErrorInfo;
  /** Thrown error, with the stack that the record lacks. */
  readonly thrown: unknown;
}

/** Failures of the steps of one delivery. Finds the step whose failure a function let through. */
export class FailedSteps {
  readonly #errorInfo: (thrown: unknown) => ErrorInfo;
  #thrown: Map<string, unknown> | undefined;
  #failures: Map<unknown, { readonly slot: string; readonly step: string }> | undefined;

  /** @param errorInfo returns what is recorded of an error */
  constructor(errorInfo: (thrown: unknown) => ErrorInfo) {
    this.#errorInfo = errorInfo;
  }

  /** Adds the error that the function of a step threw. */
  addThrown(slot: string, thrown: unknown): void {
    this.#thrown ??= new Map();
    this.#thrown.set(slot, thrown);
  }

  /** Adds the error that the run's function receives. */
  addFailure(slot: string, error: StepFailedError): void {
    this.#failures ??= new Map();
    this.#failures.set(error, { slot, step: error.step });
  }

  /** Returns the step that an error came from, as it is or as the cause of another error. */
  sourceOf(error: unknown): FailureSource | undefined {
    let current = error;
    for (let depth = 0; depth < maxCauses && current instanceof Error; depth += 1) {
      const source = this.#failures?.get(current);
      if (source !== undefined) {
        const failure = error instanceof StepFailedError ? error.failure : this.#errorInfo(error);
        return { ...source, failure, thrown: this.#thrown?.get(source.slot) ?? error };
      }
      current = current.cause;
    }
    return undefined;
  }
}
