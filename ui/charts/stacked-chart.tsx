import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Tally } from '../store/history.js';
import { niceCeiling } from './nice-ceiling.js';

export interface Bar extends Tally {
  /** Formatted time of the bar. */
  readonly name: string;
  /** False if there is no data for this time. */
  readonly known: boolean;
  /** True if the counters restarted in this time. */
  readonly restarted: boolean;
}

export interface StackedChartProps {
  /** Text alternative of the chart. */
  readonly label: string;
  readonly bars: readonly Bar[];
  readonly format: (value: number) => string;
  readonly start: string;
  readonly end: string;
}

const STEP = 10;
const GAP = 2;
const HEIGHT = 100;

/** Chart of completed and failed events, stacked, with a line for received events. */
export function StackedChart({ label, bars, format, start, end }: StackedChartProps): JSX.Element {
  const [pointed, setPointed] = useState(-1);
  const top = niceCeiling(Math.max(0, ...bars.map((bar) => Math.max(bar.received, bar.completed + bar.failed))));
  const scale = (value: number): number => Math.round((value / top) * HEIGHT * 100) / 100;
  const width = bars.length * STEP;
  const bar = bars[pointed];
  return (
    <div class="chart">
      <div class="chart-scale" aria-hidden="true">
        <span>{format(top)}</span>
        <span>{format(top / 2)}</span>
        <span>0</span>
      </div>
      <svg
        class="chart-plot"
        viewBox={`0 0 ${width} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
        onPointerMove={({ currentTarget, clientX }) => {
          const box = currentTarget.getBoundingClientRect();
          setPointed(Math.floor(((clientX - box.left) / box.width) * bars.length));
        }}
        onPointerLeave={() => setPointed(-1)}
      >
        <path class="chart-grid" d={`M0 0.5H${width}M0 50H${width}`} />
        {bar && <path class="chart-pointed" d={column(pointed, 0, HEIGHT, 0)} />}
        <path class="chart-completed" d={bars.map((each, x) => column(x, 0, scale(each.completed))).join('')} />
        <path
          class="chart-failed"
          d={bars.map((each, x) => column(x, scale(each.completed), scale(each.failed))).join('')}
        />
        <path class="chart-restart" d={bars.map((each, x) => (each.restarted ? restart(x) : '')).join('')} />
        <path class="chart-line" d={receivedLine(bars, scale)} />
      </svg>
      <div class="chart-time" aria-hidden="true">
        {bar ? (
          <span>{readout(bar, format)}</span>
        ) : (
          <>
            <span>{start}</span>
            <span>{end}</span>
          </>
        )}
      </div>
    </div>
  );
}

/** Formats the time and the counts of a bar. */
function readout(
  { name, known, restarted, received, completed, failed }: Bar,
  format: (value: number) => string,
): string {
  const counts = `${format(received)} received, ${format(completed)} completed, ${format(failed)} failed`;
  return `${name}: ${known ? counts : 'no data'}${restarted ? ', restarted' : ''}`;
}

/** Returns the path of a bar that starts at `foot`; empty if its height is 0. */
function column(index: number, foot: number, height: number, gap = GAP): string {
  return height === 0 ? '' : `M${index * STEP + gap / 2} ${HEIGHT - foot}v${-height}h${STEP - gap}v${height}z`;
}

function restart(index: number): string {
  return `M${(index + 0.5) * STEP} 0V${HEIGHT}`;
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
