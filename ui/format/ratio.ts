import { formatCount, UNKNOWN } from './count.js';

/** Formats a rate in events per second, or per minute below one per second: "0", "<0.1/min", "5.4/min", "3.4/s", "12.3K/s". */
export function formatRate(perSecond: number | null): string {
  if (perSecond === null) return UNKNOWN;
  if (perSecond === 0) return '0';
  if (perSecond >= 0.995) return `${short(perSecond)}/s`;
  const perMinute = perSecond * 60;
  return perMinute < 0.1 ? '<0.1/min' : `${short(perMinute)}/min`;
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
