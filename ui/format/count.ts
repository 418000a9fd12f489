import { lazy } from './lazy.js';

/** Text for an unknown value. 0 is a known value. */
export const UNKNOWN = '—';

/** Smallest count that is shortened: "10K". */
const COMPACT_FROM = 10_000;

const whole = lazy(() => new Intl.NumberFormat('en', { maximumFractionDigits: 0 }));
const compact = lazy(() => new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 }));

/** Formats a count: exact up to 9,999, shortened above. */
export function formatCount(count: number): string {
  return count < COMPACT_FROM ? whole().format(count) : compact().format(count);
}

/** Returns the exact count if `formatCount` shortens it. */
export function exactCount(count: number): string | undefined {
  return count < COMPACT_FROM ? undefined : whole().format(count);
}
