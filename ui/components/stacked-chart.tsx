import type { JSX } from 'preact';
import { niceCeiling } from '../format/chart-scale.js';
import type { Tally } from '../state/history.js';

export interface Bar extends Tally {
  /** When, and how much: shown where a pointer rests on the bar. */
  readonly title: string;
  /** Whether anything is known of this time. */
  readonly known: boolean;
  /** Counting began anew here. */
  readonly restarted: boolean;
}

export interface StackedChartProps {
  /** What the chart shows, for those who don't see it. */
  readonly label: string;
  readonly bars: readonly Bar[];
  readonly format: (value: number) => string;
  readonly start: string;
  readonly end: string;
}

const STEP = 10;
const GAP = 2;
const HEIGHT = 100;

/** Completed and failed events stacked over time, with a line for those received. */
export function StackedChart({ label, bars, format, start, end }: StackedChartProps): JSX.Element {
  const top = niceCeiling(Math.max(0, ...bars.map((bar) => Math.max(bar.received, bar.completed + bar.failed))));
  const scale = (value: number): number => Math.round((value / top) * HEIGHT * 100) / 100;
  return (
    <div class="chart">
      <div class="chart-scale" aria-hidden="true">
        <span>{format(top)}</span>
        <span>{format(top / 2)}</span>
        <span>0</span>
      </div>
      <svg
        class="chart-plot"
        viewBox={`0 0 ${bars.length * STEP} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
      >
        <path class="chart-grid" d={`M0 0.5H${bars.length * STEP}M0 50H${bars.length * STEP}`} />
        {bars.map((bar, index) => (
          <BarColumn key={index} bar={bar} x={index * STEP} scale={scale} />
        ))}
        <path class="chart-line" d={receivedLine(bars, scale)} />
      </svg>
      <div class="chart-time" aria-hidden="true">
        <span>{start}</span>
        <span>{end}</span>
      </div>
    </div>
  );
}

function BarColumn({ bar, x, scale }: { bar: Bar; x: number; scale: (value: number) => number }): JSX.Element {
  const completed = scale(bar.completed);
  const failed = scale(bar.failed);
  const at = { x: x + GAP / 2, width: STEP - GAP };
  return (
    <g>
      <title>{bar.title}</title>
      <rect class="chart-hit" x={x} y={0} width={STEP} height={HEIGHT} />
      {completed > 0 && <rect class="chart-completed" {...at} y={HEIGHT - completed} height={completed} />}
      {failed > 0 && <rect class="chart-failed" {...at} y={HEIGHT - completed - failed} height={failed} />}
      {bar.restarted && <path class="chart-restart" d={`M${x + STEP / 2} 0V${HEIGHT}`} />}
    </g>
  );
}

function receivedLine(bars: readonly Bar[], scale: (value: number) => number): string {
  let line = '';
  for (const [index, bar] of bars.entries()) {
    if (!bar.known) continue;
    line += bars[index - 1]?.known ? 'V' : `M${index * STEP} `;
    line += `${HEIGHT - scale(bar.received)}h${STEP}`;
  }
  return line;
}
