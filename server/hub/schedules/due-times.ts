import { createRequire } from 'node:module';
import type * as Croner from 'croner';
import { TimeZone } from './time-zone.js';

// Loaded by the first cron expression: programs without one do not pay for croner at import.
const require = createRequire(import.meta.url);

/** The due times of a schedule. */
export interface DueTimes {
  /** Returns the first due time after an instant, both in epoch milliseconds; `undefined` if there is none. */
  next(after: number): number | undefined;
}

/** Returns due times that are multiples of a period since the epoch. */
export function everyDueTimes(everyMs: number): DueTimes {
  return { next: (after) => (Math.floor(after / everyMs) + 1) * everyMs };
}

/** Returns the due times from an instant on and up to another one, both inclusive. */
export function boundedDueTimes(
  dueTimes: DueTimes,
  startAt: number = Number.NEGATIVE_INFINITY,
  endAt: number = Number.POSITIVE_INFINITY,
): DueTimes {
  return {
    next(after) {
      const due = dueTimes.next(Math.max(after, startAt - 1));
      return due === undefined || due > endAt ? undefined : due;
    },
  };
}

/**
 * Returns the due times of a cron expression of five fields, or of six with seconds first.
 *
 * An expression whose seconds, minutes and hours contain neither a wildcard nor a step is due once per matching day and
 * time of day: at the end of the gap if clocks skip the time, and the first time if they show it twice. Any other
 * expression is due whenever clocks show a matching time.
 *
 * @throws {Error} if the expression is invalid
 * @throws {RangeError} if the zone is unknown
 */
export function cronDueTimes(expression: string, timeZone: string): DueTimes {
  const zone = new TimeZone(timeZone);
  const mode = '5-or-6-parts';
  const { Cron } = require('croner') as typeof Croner;
  if (!hasFixedTimes(expression)) {
    const cron = new Cron(expression, { timezone: timeZone, mode, paused: true });
    return { next: (after) => cron.nextRun(new Date(after))?.getTime() };
  }
  // In UTC no time is skipped or repeated, so that croner enumerates the local times that match.
  const cron = new Cron(expression, { timezone: 'UTC', mode, paused: true });
  return {
    next(after) {
      let local: number | undefined = zone.localTime(after);
      for (;;) {
        local = cron.nextRun(new Date(local))?.getTime();
        if (local === undefined) return undefined;
        const instant = zone.firstInstant(local);
        if (instant > after) return instant;
      }
    },
  };
}

function hasFixedTimes(expression: string): boolean {
  const fields = expression.trim().split(/\s+/);
  const timeFields = fields.slice(0, fields.length - 3);
  return timeFields.length >= 2 && timeFields.every((field) => /^[\d,-]+$/.test(field));
}

const firstSpanMs = 60_000;

/** Returns the last due times after `after` and until `until`, in ascending order, at most `limit`. */
export function lastDueTimes(dueTimes: DueTimes, after: number, until: number, limit: number): readonly number[] {
  // Looks further and further back, so that the cost depends on the limit and not on the length of the interval.
  for (let span = firstSpanMs; ; span *= 2) {
    const from = Math.max(after, until - span);
    const found: number[] = [];
    for (let due = dueTimes.next(from); due !== undefined && due <= until; due = dueTimes.next(due)) found.push(due);
    if (found.length >= limit || from === after) return found.slice(-limit);
  }
}
