// A look at all events that takes longer has passed rows of ended ones, which stay while any transaction lasts.
const longMs = 5;
/** Part of the time that looks at all events may take then. */
const share = 1 / 4;
const maxMs = 2_000;

interface Start {
  readonly position: number;
  readonly queues: readonly number[];
}

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

  /**
   * Returns the position at which a claim begins, 0 to look at all events, and the queues that it serves: those that are
   * open, and all of them after a time of a position, because events of any may stand before it.
   */
  next(queues: readonly number[], open: ReadonlySet<number>, now: number): Start {
    const isOver = this.#until > 0 && now >= this.#until;
    return {
      position: now < this.#until ? this.#position : 0,
      queues: queues.filter((queue) => isOver || open.has(queue)),
    };
  }

  /** Learns from a look at all events. @param lowest position of the first event that it leased, if any */
  learn(lowest: number | undefined, tookMs: number, now: number): void {
    this.#position = lowest ?? 0;
    // One without room, or without events, tells of no position.
    this.#until = lowest === undefined || tookMs < longMs ? 0 : now + Math.min(tookMs / share, maxMs);
  }
}
