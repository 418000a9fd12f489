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

/** Returns a count with its noun: "1 run", "1,230 runs". @param plural with an "s" by default */
export function counted(count: number, noun: string, plural: string = `${noun}s`): string {
  return `${formatCount(count)} ${count === 1 ? noun : plural}`;
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

/** Formats a rate in events per second, or per minute below one per second: "0/min", "<0.1/min", "5.4/min", "3.4/s", "12.3K/s". */
export function formatRate(perSecond: number | null): string {
  if (perSecond === null) return UNKNOWN;
  if (perSecond >= 0.995) return `${short(perSecond)}/s`;
  const perMinute = perSecond * 60;
  return perMinute > 0 && perMinute < 0.1 ? '<0.1/min' : `${short(perMinute)}/min`;
}

function short(value: number): string {
  return value < 9.95 ? String(Number(value.toFixed(1))) : formatCount(Math.round(value));
}

/** Formats a ratio in percent. Only exactly 0 reads "0%" and only exactly 1 reads "100%". */
export function formatPercent(ratio: number | null): string {
  if (ratio === null) return UNKNOWN;
  if (ratio === 0 || ratio === 1) return `${ratio * 100}%`;
  if (ratio < 0.001) return '<0.1%';
  return ratio >= 0.9995 ? '>99.9%' : `${(ratio * 100).toFixed(1)}%`;
}

/** Formats a cost, whose currency only the application knows, with four decimals below 1: "0.0042", "1.42", "1,204". */
export function formatCost(cost: number): string {
  if (cost === 0) return '0';
  if (cost < 0.0001) return '<0.0001';
  return cost < 100 ? cost.toFixed(cost < 1 ? 4 : 2) : formatCount(Math.round(cost));
}
