import type { JSX } from 'preact';
import { TREND_HEIGHT, TREND_WIDTH, type Trend, trendOf } from '../state/recent-activity.js';

/** Bars of the last 20 minutes. The numbers are in the other columns. */
export function TrendChart({ trend: [received, failed] }: { readonly trend: Trend }): JSX.Element {
  return (
    <svg class="trend" viewBox={`0 0 ${TREND_WIDTH} ${TREND_HEIGHT}`} preserveAspectRatio="none" aria-hidden>
      <path class="trend-received" d={received} />
      <path class="trend-failed" d={failed} />
    </svg>
  );
}

/** Failures per hour as bars, the current hour last: those of a trend, which has fewer. The number beside it says the sum. */
export function HourLine({ hours }: { readonly hours: readonly number[] }): JSX.Element {
  const [, path] = trendOf({ received: hours, failed: hours });
  return (
    <svg class="error-line" viewBox="-20 0 120 20" width="120" height="20" aria-hidden>
      <path class="chart-base" d="M-20 19.5H100" />
      <path class="trend-failed" d={path} />
    </svg>
  );
}
