import type { JSX } from 'preact';
import { TREND_HEIGHT, TREND_WIDTH } from '../../../store/rows/trend.js';

export interface TrendChartProps {
  /** Path data of the bars. */
  readonly received: string;
  readonly failed: string;
}

/** Bars of the last 20 minutes. The numbers are in the other columns. */
export function TrendChart({ received, failed }: TrendChartProps): JSX.Element {
  return (
    <svg class="trend" viewBox={`0 0 ${TREND_WIDTH} ${TREND_HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <path class="trend-received" d={received} />
      <path class="trend-failed" d={failed} />
    </svg>
  );
}
