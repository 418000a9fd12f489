import { UNKNOWN } from './number.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Formats a measured or configured duration: "<1 ms", "850 ms", "1.25 s", "1 min 30 s", "2 h 5 min", "3 d". */
export function formatDuration(ms: number | null): string {
  if (ms === null) return UNKNOWN;
  if (ms === 0) return '0 ms';
  if (ms < 1) return '<1 ms';
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  // The bounds account for rounding: 59.99 s reads "1 min", never "60 s".
  if (ms < MINUTE - 50) return `${Number((ms / SECOND).toFixed(ms < 9_995 ? 2 : 1))} s`;
  if (ms < HOUR - SECOND / 2) return pair(Math.round(ms / SECOND), 60, 'min', 's');
  if (ms < DAY - MINUTE / 2) return pair(Math.round(ms / MINUTE), 60, 'h', 'min');
  return pair(Math.round(ms / HOUR), 24, 'd', 'h');
}

const UNITS = [
  [DAY, 'd'],
  [HOUR, 'h'],
  [MINUTE, 'min'],
  [SECOND, 's'],
] as const;

/** Formats a percentile, which is accurate to 10 %, with two digits: "~25 s", "~1.3 min"; "<1 ms" and "—" as they are. */
export function formatPercentile(ms: number | null): string {
  if (ms === null || ms < 1) return formatDuration(ms);
  for (const [unit, name] of UNITS) {
    const value = Number((ms / unit).toPrecision(2));
    if (value >= 1) return `~${value} ${name}`;
  }
  return `~${Number(ms.toPrecision(2))} ms`;
}

/** Formats the time since an event in whole units: "now", "12 s ago", "3 min ago", "5 h ago", "2 d ago". */
export function formatAgo(ms: number): string {
  const age = formatAge(ms);
  return age === '0 s' ? 'now' : `${age} ago`;
}

/** Formats an age in whole units: "0 s", "12 s", "3 min", "5 h", "2 d", "4 y". */
export function formatAge(ms: number): string {
  const age = Math.max(0, ms);
  if (age < MINUTE) return `${Math.floor(age / SECOND)} s`;
  if (age < HOUR) return `${Math.floor(age / MINUTE)} min`;
  if (age < DAY) return `${Math.floor(age / HOUR)} h`;
  const days = Math.floor(age / DAY);
  return days < 730 ? `${days} d` : `${Math.floor(days / 365)} y`;
}

/** Formats a time ahead, rounded, years in whole ones: "12 s", "25 min", "17 h 44 min", "5 d", "3 y". */
export function formatAhead(ms: number): string {
  if (ms < MINUTE - SECOND / 2) return formatAge(ms + SECOND / 2);
  if (ms > 2 * DAY) return formatAge(ms + DAY / 2);
  return formatDuration(Math.round(ms / MINUTE) * MINUTE);
}

function pair(total: number, per: number, large: string, small: string): string {
  const rest = total % per;
  return `${Math.floor(total / per)} ${large}${rest === 0 ? '' : ` ${rest} ${small}`}`;
}
