import type { Clock, Timer } from '../../../transports/clock.js';
import type { AbortableWaits } from '../../abortable.js';

/**
 * Time limit of the model calls of one run, which are made one after another. All calls share one timer, because a
 * timer per call took longer than the loop's own work.
 */
export class CallDeadline {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  /** Waits of the run. */
  readonly #waits: AbortableWaits;
  readonly #timeout: () => Error;
  #controller: AbortController | undefined;
  /** Aborts and rejects the current call. */
  #reject: ((error: unknown) => void) | undefined;
  /** Monotonic time at which the current call is too late. */
  #dueAt = 0;
  #timer: Timer | undefined;

  /** @param timeout returns the error of a call that takes longer than `timeoutMs` */
  constructor(clock: Clock, timeoutMs: number, waits: AbortableWaits, timeout: () => Error) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#waits = waits;
    this.#timeout = timeout;
  }

  /**
   * Signal of the current call. Created on first use, because an AbortController costs more than a turn. Not combined
   * with that of the run by `AbortSignal.any`, whose objects take five times as much memory and outlive the run.
   */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#waits.signal?.aborted) this.#controller.abort(this.#waits.signal.reason);
    }
    return this.#controller.signal;
  }

  /**
   * Runs a call until it settles, the time is up, or the run's signal aborts. Rejects with the signal's reason as soon
   * as the signal aborts, and with the error of `timeout` when the time is up.
   */
  run<T>(call: () => PromiseLike<T>): Promise<T> {
    return new Promise<T>((resolve, rejectCall) => {
      const reject = (error: unknown): void => {
        if (this.#reject === reject) this.#controller?.abort(error);
        rejectCall(error);
      };
      this.#start(reject);
      call().then(
        (value) => {
          this.#end(reject);
          resolve(value);
        },
        (error: unknown) => {
          this.#end(reject);
          rejectCall(error);
        },
      );
    });
  }

  /** Releases the timer. The last call has ended, or nobody waits for it. */
  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #start(reject: (error: unknown) => void): void {
    this.#reject = reject;
    this.#dueAt = this.#clock.monotonic() + this.#timeoutMs;
    if (this.#timer === undefined) this.#timer = this.#clock.after(this.#timeoutMs, this.#onTimer);
    else this.#timer.ref?.();
    this.#waits.add(reject);
  }

  /** Ends a call, unless it was too late: the next one may have started. */
  #end(reject: (error: unknown) => void): void {
    if (this.#reject === reject) this.#clear();
  }

  readonly #onTimer = (): void => {
    this.#timer = undefined;
    const reject = this.#reject;
    if (reject === undefined) return;
    const left = this.#dueAt - this.#clock.monotonic();
    if (left > 0) {
      this.#timer = this.#clock.after(left, this.#onTimer);
      return;
    }
    reject(this.#timeout());
    this.#end(reject);
  };

  #clear(): void {
    // Tools may run now: a process that has nothing else to wait for ends.
    this.#timer?.unref?.();
    if (this.#reject !== undefined) this.#waits.delete(this.#reject);
    this.#reject = undefined;
    // The next call has its own signal. Not at its start: options with a budget copy the signal before.
    this.#controller = undefined;
  }
}
