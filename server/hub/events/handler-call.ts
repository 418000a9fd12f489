import type { Operation } from '../../telemetry.js';
import type { Clock, Timer } from '../../transports/clock.js';
import { HandlerTimeoutError } from '../errors.js';

/** Callbacks of a {@link HandlerCall}. Exactly one is called, once, unless the call is cancelled. */
export interface CallCallbacks {
  onReturn(value: unknown): void;
  onThrow(error: unknown): void;
}

/** Context of a call, which ends when it aborts. */
interface Abortable {
  abort(reason: Error): void;
}

/** One call of a handler. Ends once: with a result, an error, a timeout, or by cancellation. */
export class HandlerCall {
  readonly #callbacks: CallCallbacks;
  #timeout: Timer | undefined;
  readonly #operation: Operation | undefined;
  #hasEnded = false;
  /** The call timed out or was aborted: the handler may run on. */
  #isAborted = false;
  /** Promise of the current stage. */
  #running: Promise<unknown> | undefined;
  #context: Abortable | undefined;

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
    if (timeoutMs !== undefined) this.startTimeout(owner, timeoutMs, clock);
  }

  /** Fails the call after `timeoutMs` milliseconds. */
  startTimeout(owner: string, timeoutMs: number, clock: Clock): void {
    this.#timeout = clock.after(timeoutMs, () => {
      const error = new HandlerTimeoutError(owner, timeoutMs);
      this.#isAborted = true;
      this.#context?.abort(error);
      this.#fail(error);
    });
  }

  /** Lets the call last as long as it takes. */
  stopTimeout(): void {
    this.#timeout?.cancel();
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
  invoke<TCtx extends Abortable>(handler: (context: TCtx) => unknown, context: TCtx): void {
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

  /** Resolves when the handler returns, whatever its result. */
  get returned(): Promise<void> {
    return (this.#running ?? Promise.resolve()).then(ignore, ignore);
  }

  /** Ends the call, and lets the handler run on. @param onLateError receives what it throws later */
  detach(onLateError: (error: unknown) => void): void {
    this.#end();
    this.#running?.catch(onLateError);
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
