import type { ErrorInfo } from '../../errors.js';
import { StepFailedError, WorkflowVersionError } from '../errors.js';
import { type CalledFunctions, OutcomeRecorder } from '../events/outcome-recorder.js';
import { encodeResult } from '../events/payload.js';
import { toStoredResult } from '../events/payload-schema.js';
import type { SteppedRun } from './requested-step.js';
import { entryKey } from './run-entry.js';
import type { StepRequest } from './run-replay.js';

/** Delay before a released run is delivered again, in milliseconds. */
const releaseDelayMs = 1_000;

/** Run that has an outcome. */
export type ConcludedRun = Pick<SteppedRun, 'workflow' | 'delivery' | 'host' | 'replay'> & CalledFunctions;

/** Outcome of one delivery of a run. Each delivery calls one of the methods that record it, once. */
export class RunOutcome {
  readonly #run: ConcludedRun;
  readonly #recorder: OutcomeRecorder;
  readonly #failures: FailedSteps;

  constructor(run: ConcludedRun) {
    const { workflow, delivery, host } = run;
    const kind = workflow.isEvent === true ? 'event' : 'workflow';
    this.#run = run;
    const { name, followUps } = workflow;
    this.#recorder = new OutcomeRecorder(kind, name, followUps, delivery, host, run);
    this.#failures = new FailedSteps((error) => host.redactor.info(error));
  }

  /** Remembers the error of a step that the run's function receives. */
  addFailure({ slot }: StepRequest, error: StepFailedError): void {
    this.#failures.addFailure(slot, error);
  }

  /** Remembers the error that the function of a step threw. */
  addThrown({ slot }: StepRequest, thrown: unknown): void {
    this.#failures.addThrown(slot, thrown);
  }

  /**
   * Returns the result of the run's function as JSON, and warns of recorded steps that the function never reached.
   * Synchronous unless the schema of the result is asynchronous.
   *
   * @throws {HubError} if it is not JSON, or too large, or does not match its schema
   */
  encode(result: unknown): string | Promise<string> {
    const { workflow, host, replay } = this.#run;
    const { name, isEvent, followUps, output } = workflow;
    if (isEvent === true && followUps.onSuccess === undefined && followUps.onComplete === undefined) return 'null';
    const json = encodeResult(result ?? null, name, host.maxPayloadBytes, 'result');
    const steps = replay.unreachedSlots();
    if (steps.length > 0) this.log('warn', { steps }, 'run completed without reaching steps that it recorded');
    return output === undefined ? json : toStoredResult(name, json, output, host.maxPayloadBytes);
  }

  /** Returns the error of a function that does not ask for the step that is recorded next. */
  versionError(): WorkflowVersionError {
    const { workflow, replay } = this.#run;
    const requested = replay.requestedSlots.slice(0, 3).join(', ');
    return new WorkflowVersionError(workflow.name, `the step ${replay.nextSlot}`, requested);
  }

  /** @param json result as {@link encode} returns it */
  complete(json: string): void {
    this.#recorder.complete(json);
  }

  /** @param isFinal `final` if a retry would fail again */
  fail(error: unknown, isFinal?: 'final'): void {
    const { workflow, delivery } = this.#run;
    if (workflow.isEvent === true && isFinal === undefined) {
      this.#recorder.retryOrFail(error, workflow.retry, delivery.attempt);
      return;
    }
    const source = this.#failures.sourceOf(error);
    if (source === undefined) {
      this.#recorder.fail(error);
      return;
    }
    const { slot, step, attempt, failure, thrown } = source;
    const generation = delivery.envelope.replays;
    const key = entryKey({ role: 'ended', generation, id: String(generation), attempt: 0 });
    // A second delivery that comes to the same end finds the entry recorded: the outcome counts, not the entry.
    const recordEnd = async (): Promise<unknown> => delivery.checkpoint(key, JSON.stringify(slot));
    void recordEnd()
      .catch(() => {})
      .then(() => this.#recorder.fail(thrown, failure, step, attempt));
  }

  /** Fails a run whose input cannot be read. */
  failUnreadable(error: Parameters<OutcomeRecorder['failUnreadable']>[0]): void {
    this.#recorder.failUnreadable(error);
  }

  /** Completes a run that the condition of its trigger, or of its handler, refused. */
  filter(): void {
    this.#recorder.filter();
  }

  suspend(): void {
    this.#recorder.suspend(this.#run.replay.entries.size);
  }

  /** @param version version that the run needs */
  release(delayMs: number = releaseDelayMs, version?: number): void {
    this.#recorder.release(delayMs, version);
  }

  log(level: 'debug' | 'warn' | 'error', fields: object, message: string): void {
    const { workflow, delivery, host } = this.#run;
    const { id: runId, requestId } = delivery.envelope;
    const { name, isEvent } = workflow;
    const identity = isEvent === true ? { eventType: name, eventId: runId } : { workflow: name, runId };
    host.logger[level]({ ...fields, requestId, ...identity, attempt: delivery.attempt }, message);
  }
}

/** Maximum number of causes that are followed from an error. */
const maxCauses = 10;

/** Source of the error that ended a run. */
export interface FailureSource {
  /** Slot of the step that failed. */
  readonly slot: string;
  /** Name of that step. */
  readonly step: string;
  /** Number of its last attempt. */
  readonly attempt: number;
  /** Error that the run records. */
  readonly failure: ErrorInfo;
  /** Thrown error, with the stack that the record lacks. */
  readonly thrown: unknown;
}

/** Failures of the steps of one delivery. Finds the step whose failure a function let through. */
class FailedSteps {
  readonly #errorInfo: (thrown: unknown) => ErrorInfo;
  #thrown: Map<string, unknown> | undefined;
  #failures: Map<unknown, Pick<FailureSource, 'slot' | 'step' | 'attempt'>> | undefined;

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
    this.#failures.set(error, { slot, step: error.step, attempt: error.attempts });
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
