import type { Clock } from '../clock.js';
import { type Envelope, sizeOf } from '../delivery.js';

// As many as a dispatcher starts per turn of the event loop.
const callsPerTurn = 256;
// A payload of this length takes about as long as a call without one.
const lengthPerCall = 16_384;

/**
 * Makes callers yield to timers and I/O: a loop of awaited calls that never leave the queue of microtasks would
 * otherwise keep the event loop from turning.
 */
export class TurnBudget {
  readonly #clock: Clock;
  #left = callsPerTurn;
  #nextTurn: Promise<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Next turn, if the budget of this one is spent. */
  get nextTurn(): Promise<void> | undefined {
    return this.#nextTurn;
  }

  /** Counts envelopes that are published. */
  spend(envelopes: readonly Envelope[]): void {
    for (const envelope of envelopes) this.#left -= 1 + sizeOf(envelope) / lengthPerCall;
    void this.#turn();
  }

  /** Counts a call with a value of a length. Returns the next turn if the caller has to wait for it. */
  spendCall(length = 0): Promise<void> | undefined {
    this.#left -= 1 + length / lengthPerCall;
    return this.#turn();
  }

  /** Counts a call. Returns its result, in the next turn if the caller has to wait for it. */
  afterCall<T>(result: T): T | Promise<T> {
    return this.spendCall()?.then(() => result) ?? result;
  }

  #turn(): Promise<void> | undefined {
    if (this.#left > 0) return undefined;
    // Every caller waits for the same turn: were each to wait alone, a thousand loops would take a thousand budgets.
    this.#nextTurn ??= new Promise((resolve) => {
      this.#clock.soon(() => {
        this.#left = callsPerTurn;
        this.#nextTurn = undefined;
        resolve();
      });
    });
    return this.#nextTurn;
  }
}
