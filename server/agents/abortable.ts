import type { Clock } from '../transports/clock.js';

/**
 * Waits that end when a signal aborts. They share one listener, because adding and removing one takes longer than the
 * rest of a wait.
 */
export class AbortableWaits {
  readonly signal: AbortSignal | undefined;
  // Few at a time, and a Set allocates a table per addition and removal.
  readonly #rejects: ((reason: unknown) => void)[] = [];
  #isListening = false;

  constructor(signal: AbortSignal | undefined) {
    this.signal = signal;
  }

  /** Settles as `work` does, or rejects with the signal's reason as soon as the signal aborts. */
  wait<T>(work: PromiseLike<T>): PromiseLike<T> {
    if (this.signal === undefined) return work;
    return new Promise<T>((resolve, reject) => {
      this.add(reject);
      Promise.resolve(work).then(
        (value) => {
          this.delete(reject);
          resolve(value);
        },
        (error: unknown) => {
          this.delete(reject);
          reject(error);
        },
      );
    });
  }

  /** Adds a function that the abort calls with the signal's reason: at once if the signal has aborted. */
  add(reject: (reason: unknown) => void): void {
    const { signal } = this;
    if (signal === undefined) return;
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    this.#rejects.push(reject);
    if (this.#isListening) return;
    this.#isListening = true;
    signal.addEventListener('abort', this.#abort);
  }

  delete(reject: (reason: unknown) => void): void {
    const index = this.#rejects.lastIndexOf(reject);
    if (index !== -1) this.#rejects.splice(index, 1);
  }

  /** Removes the listener. Nobody waits any more. */
  close(): void {
    if (!this.#isListening) return;
    this.#isListening = false;
    this.signal?.removeEventListener('abort', this.#abort);
  }

  readonly #abort = (): void => {
    for (const reject of this.#rejects.splice(0)) reject(this.signal?.reason);
  };
}

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
