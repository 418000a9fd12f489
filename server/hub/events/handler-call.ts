import type { Operation } from '../../telemetry/operation.js';
import type { Clock, Timer } from '../../transports/clock.js';
import { HandlerTimeoutError } from '../errors.js';
import type { HandlerContext } from './handler-context.js';

/** What a call tells, one of the two, once. */
export interface CallEnd {
  onReturn(value: unknown): void;
  onThrow(error: unknown): void;
}

/** One call of a handler: it ends once, by a result, an error or its time-out, or is cancelled and tells nothing. */
export class HandlerCall {
  readonly #end: CallEnd;
  readonly #timeout: Timer | undefined;
  readonly #operation: Operation | undefined;
  #isOver = false;
  #context: HandlerContext | undefined;

  /** @param operation ends with the call */
  constructor(
    owner: string,
    timeoutMs: number | undefined,
    clock: Clock,
    end: CallEnd,
    operation?: Operation | undefined,
  ) {
    this.#end = end;
    this.#operation = operation;
    if (timeoutMs === undefined) return;
    this.#timeout = clock.after(timeoutMs, () => {
      const error = new HandlerTimeoutError(owner, timeoutMs);
      this.#context?.abort(error);
      this.throw(error);
    });
  }

  /** Calls `next` with what `run` returns or resolves to, at once where it is no promise, unless the call is over. */
  step<T>(run: () => T | PromiseLike<T>, next: (value: T) => void): void {
    const proceed = (value: T): void => {
      if (!this.#isOver) next(value);
    };
    try {
      const value = run();
      if (!isThenable(value)) proceed(value);
      // What is only like a promise may throw, or settle twice; a promise of it does neither.
      else Promise.resolve(value).then(proceed, (error: unknown) => this.throw(error));
    } catch (error) {
      this.throw(error);
    }
  }

  invoke<TContext extends HandlerContext>(handler: (context: TContext) => unknown, context: TContext): void {
    this.#context = context;
    const operation = this.#operation;
    this.step(
      operation === undefined ? () => handler(context) : () => operation.run(() => handler(context)),
      (value) => {
        this.#finish();
        this.#end.onReturn(value);
      },
    );
  }

  throw(error: unknown): void {
    if (this.#isOver) return;
    this.#operation?.fail(error);
    this.#finish();
    this.#end.onThrow(error);
  }

  /** Ends the call without a word; `reason` aborts the handler, if it runs. */
  cancel(reason?: Error): void {
    if (reason !== undefined) this.#operation?.fail(reason);
    this.#finish();
    if (reason !== undefined) this.#context?.abort(reason);
  }

  #finish(): void {
    this.#isOver = true;
    this.#timeout?.cancel();
    this.#operation?.end();
  }
}

function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
