/** Task that runs once at a time. Calls during a run share one more run, which starts after it. */
export class CoalescedTask {
  readonly #task: () => Promise<void>;
  #current: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(task: () => Promise<void>) {
    this.#task = task;
  }

  /** Resolves when a run has ended that started after the call. */
  run(): Promise<void> {
    if (this.#current === undefined) return this.#begin();
    this.#next ??= this.#current
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        return this.#begin();
      });
    return this.#next;
  }

  #begin(): Promise<void> {
    const run = this.#task().finally(() => {
      if (this.#current === run) this.#current = undefined;
    });
    this.#current = run;
    return run;
  }
}
