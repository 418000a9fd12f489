import type { RunningAttempt } from './attempt-run.js';

/** Attempts of a run that hold its process. */
export class RunningAttempts {
  // A Set allocates a table per addition and removal.
  readonly #attempts: RunningAttempt[] = [];

  get size(): number {
    return this.#attempts.length;
  }

  add(attempt: RunningAttempt): void {
    attempt.index = this.#attempts.push(attempt) - 1;
  }

  delete(attempt: RunningAttempt): void {
    const last = this.#attempts.pop();
    if (last === undefined || last === attempt) return;
    last.index = attempt.index;
    this.#attempts[last.index] = last;
  }

  /** Ends all attempts without records. @param reason aborts their functions */
  cancel(reason: Error): void {
    for (const attempt of this.#attempts.splice(0)) attempt.cancel(reason);
  }
}
