import type { RateLimit } from '../../transport.js';

/** Sliding window over the last `max` starts: the next start is allowed `perMs` after the oldest of them. */
export class RateWindow {
  readonly #perMs: number;
  readonly #starts: Float64Array;
  #oldest = 0;

  /** @param former window of a former rate of the type, whose starts count */
  constructor({ max, perMs }: RateLimit, former?: RateWindow) {
    this.#perMs = perMs;
    this.#starts = new Float64Array(max).fill(Number.NEGATIVE_INFINITY);
    if (former === undefined) return;
    // In ascending order, so that the first slot has the oldest start.
    const latest = former.#starts.slice().sort().slice(-max);
    this.#starts.set(latest, max - latest.length);
  }

  /** Returns `true` if the window enforces exactly this rate. */
  enforces(rate: RateLimit | undefined): boolean {
    return rate?.max === this.#starts.length && rate.perMs === this.#perMs;
  }

  /** Time from which the next start is allowed; may be in the past. */
  get openAt(): number {
    return (this.#starts[this.#oldest] ?? 0) + this.#perMs;
  }

  countStart(now: number): void {
    this.#starts[this.#oldest] = now;
    this.#oldest = (this.#oldest + 1) % this.#starts.length;
  }
}
