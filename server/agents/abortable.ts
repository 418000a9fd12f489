import type { Clock } from '../transports/clock.js';

/** Settles as `work` does, or rejects with the signal's reason as soon as the signal aborts. */
export function abortable<T>(work: PromiseLike<T>, signal: AbortSignal | undefined): PromiseLike<T> {
  if (signal === undefined) return work;
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    const done = (): void => signal.removeEventListener('abort', abort);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort);
    Promise.resolve(work).then(
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

/** Returns a signal that aborts as soon as one of the two aborts. */
export function either(a: AbortSignal | undefined, b: AbortSignal | undefined): AbortSignal | undefined {
  return a !== undefined && b !== undefined ? AbortSignal.any([a, b]) : (a ?? b);
}

/** Waits `ms` milliseconds. Rejects with the signal's reason as soon as the signal aborts. */
export async function delay(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  let end: () => void = () => {};
  const elapsed = new Promise<void>((resolve) => {
    end = resolve;
  });
  const timer = clock.after(ms, end);
  try {
    await abortable(elapsed, signal);
  } finally {
    timer.cancel();
  }
}
