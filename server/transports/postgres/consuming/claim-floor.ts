// A look at all events that takes longer has passed rows of ended ones, which stay while any transaction lasts.
const longMs = 5;
/** Part of the time that looks at all events may take then. */
const share = 1 / 4;
const maxMs = 2_000;

/**
 * Position before which claims look for no events, after one that took long. What is ready before it, such as a retry or an
 * event of another type, then waits for the next look at all: the longer looks take, the rarer they are.
 */
export class ClaimFloor {
  #position = 0;
  #until = 0;

  /** Time until which claims begin at the position, by the monotonic clock. */
  get until(): number {
    return this.#until;
  }

  /** Returns if a look at the events of all queues is due: those of any may stand before the position. */
  isOver(now: number): boolean {
    return this.#until > 0 && now >= this.#until;
  }

  /** Returns the position; 0 to look at all events. */
  current(now: number): number {
    return now < this.#until ? this.#position : 0;
  }

  /** Learns from a look at all events. @param lowest position of the first event that it leased, if any */
  learn(lowest: number | undefined, tookMs: number, now: number): void {
    this.#position = lowest ?? 0;
    // One without room, or without events, tells of no position.
    this.#until = lowest === undefined || tookMs < longMs ? 0 : now + Math.min(tookMs / share, maxMs);
  }
}
