import type { SteppedRun } from './requested-step.js';

/** Number of runs per workflow and process that are observed: code that loses a step does so in each of its runs. */
const observedRuns = 20;

const runsLeft = new WeakMap<object, number>();

/** Call of a function of `step`. */
interface StepCall {
  readonly name: string;
  /** Has the stack of the call, which V8 formats when it is first read. */
  readonly at: { readonly stack?: string };
}

/**
 * Warns of code that loses a step or awaits something that is no step. During development, for the first runs of each
 * workflow.
 */
export class CodeObserver {
  readonly #run: SteppedRun;
  /** Calls without a result since the last step that was released. */
  #calls: StepCall[] = [];
  #last: StepCall | undefined;
  #isOver = false;

  private constructor(run: SteppedRun) {
    this.#run = run;
  }

  /** Returns the observer of a run; `undefined` in production, and when enough runs were observed. */
  static of(run: SteppedRun): CodeObserver | undefined {
    const { workflow } = run;
    const left = runsLeft.get(workflow) ?? (process.env['NODE_ENV'] === 'production' ? 0 : observedRuns);
    runsLeft.set(workflow, Math.max(0, left - 1));
    return left > 0 ? new CodeObserver(run) : undefined;
  }

  /** A function of `step` is called. @param fn function whose caller is shown */
  called(name: unknown, fn: (...args: never) => unknown): StepCall {
    const at = {};
    Error.captureStackTrace(at, fn);
    const call = { name: String(name), at };
    this.#calls.push(call);
    this.#last = call;
    return call;
  }

  /** The promise of a call has settled. */
  settled(call: StepCall): void {
    this.#calls = this.#calls.filter((other) => other !== call);
  }

  /** The result of a step was released: what was called before may have lost a race against it. */
  released(): void {
    if (this.#calls.length > 0) this.#calls = [];
  }

  /** Observes nothing more: agents read memories and validate answers between their steps. */
  end(): void {
    this.#isOver = true;
  }

  /** The function has returned. */
  returned(): void {
    const [call] = this.#calls;
    if (call !== undefined && !this.#isOver) this.#warn(call, 'the function returned without awaiting this step');
    this.end();
  }

  /**
   * The function awaits no step. Warns unless it asks for one before the event loop has turned.
   *
   * @param isAtRest the function still awaits no step
   */
  rested(isAtRest: () => boolean): void {
    if (this.#isOver) return;
    const last = this.#last;
    setImmediate(() => {
      if (this.#isOver || this.#last !== last || !isAtRest()) return;
      this.#warn(last, 'the function awaits something that is no step after this one; use step.run for I/O');
      this.end();
    });
  }

  #warn(call: StepCall | undefined, message: string): void {
    const { workflow, delivery, host } = this.#run;
    const { id: runId, requestId } = delivery.envelope;
    const place = call === undefined ? {} : { step: call.name, at: lineOf(call) };
    host.logger.warn({ requestId, workflow: workflow.name, runId, ...place }, message);
  }
}

/** Returns file, line and column of a call. */
function lineOf({ at }: StepCall): string {
  return at.stack?.split('\n')[1]?.trim().replace(/^at /, '') ?? 'unknown';
}
