const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Distances between ticks that read well. */
const STEPS = [
  MINUTE,
  2 * MINUTE,
  5 * MINUTE,
  10 * MINUTE,
  15 * MINUTE,
  30 * MINUTE,
  HOUR,
  2 * HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
  DAY,
  2 * DAY,
  7 * DAY,
];

/**
 * Returns at most `max` round clock times between two times, in epoch milliseconds.
 *
 * @param zoneOffsetMs offset of the viewer's time zone: local time less UTC
 */
export function timeTicks(from: number, to: number, max: number, zoneOffsetMs: number): readonly number[] {
  const step = STEPS.find((each) => (to - from) / each <= max) ?? 7 * DAY;
  const first = Math.ceil((from + zoneOffsetMs) / step) * step - zoneOffsetMs;
  const ticks: number[] = [];
  for (let at = first; at <= to; at += step) ticks.push(at);
  return ticks;
}
