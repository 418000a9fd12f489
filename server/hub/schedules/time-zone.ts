const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/**
 * Converts between instants and the local time of an IANA time zone. A local time is the epoch milliseconds of the
 * instant at which UTC clocks show it.
 */
export class TimeZone {
  readonly #format: Intl.DateTimeFormat;

  /** @throws {RangeError} if the zone is unknown */
  constructor(name: string) {
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
      hourCycle: 'h23',
    });
  }

  /** Returns the local time at an instant, without its milliseconds. */
  localTime(instant: number): number {
    const parts = new Map(this.#format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]));
    const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
    return Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
  }

  /**
   * Returns the first instant at which clocks of the zone show a whole second of local time. If they skip it, returns
   * the end of the gap.
   */
  firstInstant(localTime: number): number {
    // Zones change at most once within two days, so that one of these offsets holds at the local time.
    const before = localTime - this.#offset(localTime - dayMs);
    const after = localTime - this.#offset(localTime + dayMs);
    if (this.localTime(before) === localTime) return before;
    if (this.localTime(after) === localTime) return after;
    return this.#transitionIn(localTime - dayMs, localTime + dayMs);
  }

  #offset(instant: number): number {
    return this.localTime(instant) - instant;
  }

  /** Returns the instant within the interval at which the offset changes. */
  #transitionIn(from: number, to: number): number {
    const offset = this.#offset(from);
    let [last, first] = [from, to];
    while (first - last > 1000) {
      const middle = last + Math.floor((first - last) / 2000) * 1000;
      if (this.#offset(middle) === offset) last = middle;
      else first = middle;
    }
    return first;
  }
}
