/** Slots of a process for jobs. Worker queues may share them. */
export class Slots {
  readonly #waiting = new Set<(isTaken: boolean) => void>();
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  /** Takes a slot if one is free. */
  tryTake(): boolean {
    if (this.#free === 0) return false;
    this.#free -= 1;
    return true;
  }

  /** Resolves with `true` when a slot is taken, with `false` when the signal aborts. */
  take(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false);
    if (this.tryTake()) return Promise.resolve(true);
    return new Promise((resolve) => {
      const settle = (isTaken: boolean): void => {
        this.#waiting.delete(settle);
        signal.removeEventListener('abort', abort);
        resolve(isTaken);
      };
      const abort = (): void => settle(false);
      signal.addEventListener('abort', abort);
      this.#waiting.add(settle);
    });
  }

  release(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#free += 1;
    else next(true);
  }
}
