import type { RateLimit } from './delivery.js';

// A log of more starts counts those within this share of the window as one group, at the time of its last one.
const maxGroups = 100;

/** Starts at about one time. */
interface Group {
  readonly from: number;
  at: number;
  count: number;
}

/**
 * The last starts under a rate, of which no window of `perMs` may have more than `max`: a sliding window log. Above 100
 * starts it is coarser, and never too early: it allows up to 1 % less.
 */
export class StartLog {
  #rate: RateLimit;
  /** Oldest first. Without the first one, they have fewer than `max` starts. */
  readonly #groups: Group[] = [];
  #total = 0;
  /** Time of the last start that is not known, since it did not matter under its rate. */
  #cutAt = Number.NEGATIVE_INFINITY;

  constructor(rate: RateLimit) {
    this.#rate = rate;
  }

  /** Returns a log from what {@link stored} returned. @param offset difference of its clock to the stored one */
  static restore(stored: readonly number[], offset = 0): StartLog {
    const [max = 1, perMs = 1] = stored;
    const log = new StartLog({ max, perMs });
    for (let index = 2; index + 1 < stored.length; index += 2) {
      const [time = 0, count = 0] = stored.slice(index);
      const at = time + offset;
      if (count === 0) log.#cutAt = at;
      else log.#groups.push({ from: at, at, count });
      log.#total += count;
    }
    return log;
  }

  /**
   * Returns the rate, and the starts as times and numbers in turns: 0 is the number of those that are not known.
   *
   * @param offset difference of the stored clock
   */
  stored(offset = 0): readonly number[] {
    const cut = this.#cutAt === Number.NEGATIVE_INFINITY ? [] : [{ at: this.#cutAt, count: 0 }];
    const starts = [...cut, ...this.#groups].flatMap(({ at, count }) => [at + offset, count]);
    return [this.#rate.max, this.#rate.perMs, ...starts];
  }

  /** Time from which the next start is allowed; may be in the past. */
  get openAt(): number {
    const [oldest] = this.#groups;
    // As many as matter may have been at the time of the cut.
    const at = oldest === undefined || this.#total < this.#rate.max ? this.#cutAt : oldest.at;
    return at + this.#rate.perMs;
  }

  /** Time from which the rate no longer depends on the starts. */
  get forgetAt(): number {
    return (this.#groups.at(-1)?.at ?? this.#cutAt) + this.#rate.perMs;
  }

  /** Changes the rate. Earlier starts count. */
  setRate(rate: RateLimit): void {
    this.#rate = rate;
    this.#cut();
  }

  countStart(now: number): void {
    const last = this.#groups.at(-1);
    const { max, perMs } = this.#rate;
    const spanMs = max > maxGroups ? perMs / maxGroups : 0;
    if (last !== undefined && now - last.from <= spanMs) {
      last.at = Math.max(last.at, now);
      last.count += 1;
    } else {
      // The clock of the storage may have been set back.
      const at = Math.max(now, last?.at ?? now);
      this.#groups.push({ from: at, at, count: 1 });
    }
    this.#total += 1;
    this.#cut();
  }

  /** Takes back a start. @param at its time, or a later one before the next start */
  uncountStart(at: number): void {
    // Of the starts of a group only the last one is known. The time of an event has whole milliseconds.
    const index = this.#groups.findLastIndex(({ from }, place) => (place === 0 ? from < at + 1 : from <= at));
    const group = this.#groups[index];
    if (group === undefined) return;
    group.count -= 1;
    this.#total -= 1;
    if (group.count === 0) this.#groups.splice(index, 1);
  }

  #cut(): void {
    for (let [oldest] = this.#groups; oldest !== undefined; [oldest] = this.#groups) {
      const isOver = this.#groups.length > 2 * maxGroups;
      if (this.#total - oldest.count < this.#rate.max && !isOver) return;
      this.#groups.shift();
      this.#total -= oldest.count;
      this.#cutAt = oldest.at;
    }
  }
}
