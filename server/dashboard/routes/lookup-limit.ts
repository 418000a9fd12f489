import { HubError } from '../../errors.js';

/** Lookups that the hub answers at once; further ones wait for their turn. */
const maxLookupsInFlight = 4;
/** Lookups that begin within a second; further ones are refused. */
const maxLookupsPerSecond = 50;

/** The callers of a dashboard together ask for more than the hub is asked for. */
class TooManyLookupsError extends HubError {
  constructor() {
    super('ERR_TOO_MANY_LOOKUPS', `over ${maxLookupsPerSecond} lookups within a second; repeat it later`);
  }
}

/**
 * Limit on reads whose number the callers of a handler decide, such as those by id, for all callers together: others
 * than the dashboard use the store of the hub too.
 */
export class LookupLimit {
  readonly #now: () => number;
  readonly #waiting: (() => void)[] = [];
  #inFlight = 0;
  #second = Number.NEGATIVE_INFINITY;
  #begun = 0;

  /** @param now current time in milliseconds from an arbitrary point */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Counts a lookup. @throws {TooManyLookupsError} */
  begin(): void {
    const second = Math.floor(this.#now() / 1_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#begun = 0;
    }
    if (this.#begun === maxLookupsPerSecond) throw new TooManyLookupsError();
    this.#begun += 1;
  }

  /** Reads when fewer than {@link maxLookupsInFlight} reads are under way. */
  async read<T>(read: () => Promise<T>): Promise<T> {
    if (this.#inFlight === maxLookupsInFlight) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#inFlight += 1;
    try {
      return await read();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#inFlight -= 1;
      else next();
    }
  }
}
