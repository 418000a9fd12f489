import { formatCount, UNKNOWN } from './count.js';

/** Formats events per second: "0", "<0.1", "3.4", "120", "12.3K". */
export function formatRate(perSecond: number | null): string {
  if (perSecond === null) return UNKNOWN;
  if (perSecond === 0) return '0';
  if (perSecond < 0.1) return '<0.1';
  return perSecond < 9.95 ? perSecond.toFixed(1) : formatCount(Math.round(perSecond));
}

/** Formats a ratio in percent. Only exactly 0 reads "0%" and only exactly 1 reads "100%". */
export function formatPercent(ratio: number | null): string {
  if (ratio === null) return UNKNOWN;
  if (ratio === 0 || ratio === 1) return `${ratio * 100}%`;
  if (ratio < 0.001) return '<0.1%';
  return ratio >= 0.9995 ? '>99.9%' : `${(ratio * 100).toFixed(1)}%`;
}
