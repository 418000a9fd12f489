import { type DueTimes, lastDueTimes } from './due-times.js';
import type { CatchUp } from './schedule.js';

/** Maximum number of due times that one schedule makes up for. */
const maxCaughtUp = 1_000;

/**
 * Returns the instant after which a schedule claims every due time, one after the other. Due times between `position` and
 * that instant are skipped.
 *
 * @param position due time up to which the schedule has been served
 * @param graceMs milliseconds for which a due time that passed does not count as missed
 */
export function catchUpPosition(
  { dueTimes, catchUp }: { readonly dueTimes: DueTimes; readonly catchUp: CatchUp },
  position: number,
  now: number,
  graceMs: number,
): number {
  if (catchUp === 'none') return Math.max(position, now - graceMs);
  const [first] = lastDueTimes(dueTimes, position, now, catchUp === 'all' ? maxCaughtUp : 1);
  if (first === undefined) return position;
  const beforeFirst = Math.max(position, first - 1);
  return catchUp === 'all' ? beforeFirst : Math.max(position, Math.min(beforeFirst, now - graceMs));
}
