import type { Clock } from '../../transports/clock.js';
import { either } from '../abortable.js';

/** Time limit of the model calls of one run, which are made one after another. */
export class CallDeadline {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #signal: AbortSignal | undefined;
  readonly #timeout: () => Error;
  #controller: AbortController | undefined;
  #combined: AbortSignal | undefined;

  /** @param timeout returns the error of a call that takes longer than `timeoutMs` */
  constructor(clock: Clock, timeoutMs: number, signal: AbortSignal | undefined, timeout: () => Error) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#signal = signal;
    this.#timeout = timeout;
  }

  /** Signal of the current call. Created on first use, because an AbortController costs more than a turn. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    this.#combined ??= either(this.#signal, this.#controller.signal) ?? this.#controller.signal;
    return this.#combined;
  }

  /**
   * Runs a call until it settles, the time is up, or the run's signal aborts. Rejects with the signal's reason as soon
   * as the signal aborts, and with the error of `timeout` when the time is up.
   */
  run<T>(call: () => PromiseLike<T>): Promise<T> {
    const signal = this.#signal;
    return new Promise<T>((resolve, reject) => {
      const abort = (): void => reject(signal?.reason);
      const timer = this.#clock.after(this.#timeoutMs, () => {
        signal?.removeEventListener('abort', abort);
        const error = this.#timeout();
        this.#controller?.abort(error);
        this.#reset();
        reject(error);
      });
      const done = (): void => {
        timer.cancel();
        signal?.removeEventListener('abort', abort);
        this.#reset();
      };
      if (signal?.aborted) abort();
      signal?.addEventListener('abort', abort);
      call().then(
        (value) => {
          done();
          resolve(value);
        },
        (error: unknown) => {
          done();
          reject(error);
        },
      );
    });
  }

  /** Gives the next call its own signal. Not at its start: options with a budget copy the signal before. */
  #reset(): void {
    this.#controller = undefined;
    this.#combined = undefined;
  }
}
