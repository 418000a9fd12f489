import type { Operation } from '../../telemetry.js';
import type { Clock, Timer } from '../../transports/clock.js';
import { HandlerTimeoutError } from '../errors.js';
import type { AttemptCtx } from './attempt-ctx.js';

/** Callbacks of a {@link HandlerCall}. Exactly one is called, once, unless the call is cancelled. */
export interface CallCallbacks {
  onReturn(value: unknown): void;
  onThrow(error: unknown): void;
}

/** One call of a handler. Ends once: with a result, an error, a timeout, or by cancellation. */
export class HandlerCall {
  readonly #callbacks: CallCallbacks;
  readonly #timeout: Timer | undefined;
  readonly #operation: Operation | undefined;
  #hasEnded = false;
  /** The call timed out or was aborted: the handler may run on. */
  #isAborted = false;
  /** Promise of the current stage. */
  #running: Promise<unknown> | undefined;
  #context: AttemptCtx | undefined;

  /** @param operation ends with the call */
  constructor(
    owner: string,
    timeoutMs: number | undefined,
    clock: Clock,
    callbacks: CallCallbacks,
    operation?: Operation | undefined,
  ) {
    this.#callbacks = callbacks;
    this.#operation = operation;
    if (timeoutMs === undefined) return;
    this.#timeout = clock.after(timeoutMs, () => {
      const error = new HandlerTimeoutError(owner, timeoutMs);
      this.#isAborted = true;
      this.#context?.abort(error);
      this.#fail(error);
    });
  }

  /**
   * Runs `stage` and calls `next` with its result, unless the call has ended by then. If the result is not a
   * promise, `next` is called synchronously.
   */
  runStage<T>(stage: () => T | PromiseLike<T>, next: (value: T) => void): void {
    const proceed = (value: T): void => {
      if (!this.#hasEnded) next(value);
    };
    try {
      const value = stage();
      if (isThenable(value)) this.#await(value, proceed);
      else proceed(value);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Calls the handler. */
  invoke<TCtx extends AttemptCtx>(handler: (context: TCtx) => unknown, context: TCtx): void {
    this.#context = context;
    const operation = this.#operation;
    try {
      const value = operation === undefined ? handler(context) : operation.run(() => handler(context));
      if (isThenable(value)) this.#await(value, (result) => this.#return(result));
      else this.#return(value);
    } catch (error) {
      this.#fail(error);
    }
  }

  #await<T>(value: PromiseLike<T>, next: (result: T) => void): void {
    // A thenable may throw or settle twice. A promise of it does neither.
    const running = Promise.resolve(value);
    this.#running = running;
    running.then(next, (error: unknown) => this.#fail(error));
  }

  #return(value: unknown): void {
    if (this.#hasEnded) return;
    this.#end();
    this.#callbacks.onReturn(value);
  }

  /** Resolves when a handler that ran on after its timeout or abort returns; `undefined` for any other call. */
  get unfinished(): Promise<void> | undefined {
    return this.#isAborted ? this.#running?.then(ignore, ignore) : undefined;
  }

  /** Ends the call without a callback. `reason` aborts the handler, if it runs. */
  cancel(reason?: Error): void {
    if (reason !== undefined) this.#operation?.fail(reason);
    this.#end();
    if (reason === undefined) return;
    this.#isAborted = true;
    this.#context?.abort(reason);
  }

  #fail(error: unknown): void {
    if (this.#hasEnded) return;
    this.#operation?.fail(error);
    this.#end();
    this.#callbacks.onThrow(error);
  }

  #end(): void {
    this.#hasEnded = true;
    this.#timeout?.cancel();
    this.#operation?.end();
  }
}

function ignore(): void {}

function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
