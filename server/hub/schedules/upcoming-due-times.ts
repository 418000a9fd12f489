import { cronDueTimes, type DueTimes, everyDueTimes } from './due-times.js';

/** Number of due times that are looked ahead. */
const maxDueTimes = 3;

/** Maximum number of cron expressions with retained due times. */
const maxExpressions = 1_000;

/** The next due times of an expression, for instants from `from` until before the first of them. */
interface LookAhead {
  readonly from: number;
  readonly dueTimes: readonly number[];
}

/** Times of a schedule, of which one is set. */
interface Times {
  readonly cron?: string;
  readonly timeZone?: string;
  readonly everyMs?: number;
}

/** Next due times of schedules. Retains those of cron expressions until the first has passed: to parse one takes longer than the rest of a schedule's introspection. */
export class UpcomingDueTimes {
  readonly #retained = new Map<string, LookAhead>();

  /** Returns the next three due times after an instant, in epoch milliseconds; fewer if the schedule has no more. */
  after(instant: number, { cron, timeZone = 'UTC', everyMs }: Times): readonly number[] {
    if (everyMs !== undefined) return take(everyDueTimes(everyMs), instant);
    if (cron === undefined) return [];
    const key = JSON.stringify([cron, timeZone]);
    const retained = this.#retained.get(key);
    if (retained !== undefined && retained.from <= instant && instant < (retained.dueTimes[0] ?? Infinity)) {
      return retained.dueTimes;
    }
    const dueTimes = cronTimes(cron, timeZone, instant);
    this.#retained.delete(key);
    this.#retained.set(key, { from: instant, dueTimes });
    const [oldest] = this.#retained.keys();
    if (this.#retained.size > maxExpressions && oldest !== undefined) this.#retained.delete(oldest);
    return dueTimes;
  }
}

function cronTimes(cron: string, timeZone: string, after: number): readonly number[] {
  try {
    return take(cronDueTimes(cron, timeZone), after);
  } catch {
    // Another version of the package, or another Node, may know expressions and zones that this process does not.
    return [];
  }
}

function take(dueTimes: DueTimes, after: number): readonly number[] {
  const taken: number[] = [];
  for (let due = dueTimes.next(after); due !== undefined && taken.length < maxDueTimes; due = dueTimes.next(due)) {
    taken.push(due);
  }
  return taken;
}
