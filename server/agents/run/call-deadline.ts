import type { Clock } from '../../transports/clock.js';
import { either } from '../abortable.js';

/**
 * Runs a call until it settles, the time is up, or the signal aborts. Passes the call a function that returns the signal
 * to heed, which is created on first use: an AbortController costs more than a turn.
 *
 * Rejects with the signal's reason as soon as the signal aborts, and with the error of `timeout` when the time is up.
 */
export function callWithDeadline<T>(
  clock: Clock,
  timeoutMs: number,
  signal: AbortSignal | undefined,
  timeout: () => Error,
  call: (signalOf: () => AbortSignal) => PromiseLike<T>,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    let controller: AbortController | undefined;
    let combined: AbortSignal | undefined;
    const abort = (): void => reject(signal?.reason);
    const timer = clock.after(timeoutMs, () => {
      signal?.removeEventListener('abort', abort);
      const error = timeout();
      controller?.abort(error);
      reject(error);
    });
    const done = (): void => {
      timer.cancel();
      signal?.removeEventListener('abort', abort);
    };
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort);
    const signalOf = (): AbortSignal => {
      controller ??= new AbortController();
      combined ??= either(signal, controller.signal) ?? controller.signal;
      return combined;
    };
    call(signalOf).then(
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
