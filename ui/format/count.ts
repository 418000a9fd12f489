/** Text for an unknown value. 0 is a known value. */
export const UNKNOWN = '—';

/** Smallest count that is shortened: "10K". */
const COMPACT_FROM = 10_000;

const UNITS = ['K', 'M', 'B', 'T'];

/** Formats a count: exact up to 9,999, shortened above. The formatters of `Intl` would delay the first paint. */
export function formatCount(count: number): string {
  return count < COMPACT_FROM ? grouped(count) : shortened(count);
}

/** Returns the exact count if `formatCount` shortens it. */
export function exactCount(count: number): string | undefined {
  return count < COMPACT_FROM ? undefined : grouped(count);
}

function grouped(count: number): string {
  return String(Math.round(count)).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

function shortened(count: number): string {
  let unit = 0;
  let tenths = Math.round(count / 100);
  // Rounding decides the unit: 999,950 reads "1M".
  while (tenths >= 10_000 && unit < UNITS.length - 1) {
    unit += 1;
    tenths = Math.round(count / (100 * 1_000 ** unit));
  }
  return `${tenths / 10}${UNITS[unit]}`;
}
