/** What stands for a value that is not known. 0 is a value. */
export const UNKNOWN = '—';

/** Counts from here on are shortened: "12.3K". */
const COMPACT_FROM = 10_000;

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/** A count as it is up to 9,999, and shortened beyond. */
export function formatCount(count: number): string {
  return count < COMPACT_FROM ? whole.format(count) : compact.format(count);
}

/** The count in full, where `formatCount` shortens it. */
export function exactCount(count: number): string | undefined {
  return count < COMPACT_FROM ? undefined : whole.format(count);
}
