import type { Redis } from 'ioredis';

/** Sends what batches have collected. */
type Flush = () => void;

/**
 * Commands that a consumer sends in one turn of the event loop of the event loop: outcomes, then the fetches of the jobs that take their slots. One
 * write carries all of it, so that Redis reads and replies once.
 */
export class SendTurn {
  #connection: Redis | undefined;
  #outcomes: Flush[] = [];
  #fetches: Flush[] = [];

  /** Sets the connection whose writes are gathered. */
  use(connection: Redis | undefined): void {
    this.#connection = connection;
  }

  /** Sends at the end of the turn. */
  readonly addOutcomes = (flush: Flush): void => this.#add(this.#outcomes, flush);

  /** Sends at the end of the turn, after all outcomes. */
  readonly addFetches = (flush: Flush): void => this.#add(this.#fetches, flush);

  #add(flushes: Flush[], flush: Flush): void {
    if (this.#outcomes.length + this.#fetches.length === 0) setImmediate(() => this.#send());
    flushes.push(flush);
  }

  #send(): void {
    const flushes = [...this.#outcomes, ...this.#fetches];
    this.#outcomes = [];
    this.#fetches = [];
    const stream = this.#connection?.stream;
    stream?.cork();
    const errors: unknown[] = [];
    for (const flush of flushes) {
      try {
        flush();
      } catch (error) {
        errors.push(error);
      }
    }
    stream?.uncork();
    if (errors.length > 0) throw errors[0];
  }
}
