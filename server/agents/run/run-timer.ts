import type { Clock } from '../../transports/clock.js';

/** Measures the duration of a run, which may have started in another process. */
export class RunTimer {
  readonly #clock: Clock;
  readonly #startedMonotonic: number;
  #startedAt: number;
  #isResumed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedMonotonic = clock.monotonic();
    this.#startedAt = clock.now();
  }

  /** Epoch milliseconds at which the run started. */
  get startedAt(): number {
    return this.#startedAt;
  }

  /** Continues the run that an earlier delivery started. */
  resume(startedAt: number): void {
    this.#startedAt = startedAt;
    this.#isResumed = true;
  }

  /** Milliseconds since the start. The wall clocks of two hosts may differ: never negative. */
  get elapsedMs(): number {
    if (this.#isResumed) return Math.max(0, this.#clock.now() - this.#startedAt);
    return this.#clock.monotonic() - this.#startedMonotonic;
  }
}
