import type { JSX } from 'preact';
import { Icon } from '../controls/icon.js';
import { formatPeriod } from '../format/clock-time.js';
import { formatCount } from '../format/count.js';
import { formatDuration } from '../format/duration.js';
import { formatPercent, formatRate } from '../format/ratio.js';
import { type Point, perSecond } from './history-points.js';

export interface ChartTooltipProps {
  readonly point: Point;
  /** Time at which the counts were read, in epoch milliseconds. */
  readonly now: number;
  /** Position of the crosshair in pixels. */
  readonly x: number;
  /** True to show the tooltip left of the crosshair. */
  readonly isFlipped: boolean;
  /** Period of a selection in progress. */
  readonly selected: string | undefined;
}

/** Counts of the period at the crosshair. */
export function ChartTooltip({ point, now, x, isFlipped, selected }: ChartTooltipProps): JSX.Element {
  const { at, endAt, received, completed, failed, coveredMs, isCurrent } = point;
  return (
    <div class="chart-tooltip" style={{ left: `${x}px` }} data-flipped={isFlipped} aria-hidden="true">
      <p class="chart-tooltip-head">
        {selected === undefined ? formatPeriod(at, endAt, now) : `Select ${selected}`}
        {selected === undefined && isCurrent && <span class="muted"> so far</span>}
      </p>
      {coveredMs === 0 ? (
        <p class="muted">No data: the hub did not run.</p>
      ) : (
        <dl>
          <Line icon="dot" tone="received" label="Received" value={formatCount(received)}>
            {formatRate(perSecond(received, point))}
          </Line>
          <Line icon="check" tone="completed" label="Completed" value={formatCount(completed)} />
          <Line icon="triangle" tone={failed > 0 ? 'failed' : 'none'} label="Failed" value={formatCount(failed)}>
            {failed > 0 && formatPercent(failed / Math.max(1, completed + failed))}
          </Line>
          {point.waitP95Ms !== null && <Line label="Waiting p95" value={formatDuration(point.waitP95Ms)} />}
          {point.durationP95Ms !== null && <Line label="Running p95" value={formatDuration(point.durationP95Ms)} />}
        </dl>
      )}
    </div>
  );
}

interface LineProps {
  readonly icon?: 'dot' | 'check' | 'triangle';
  readonly tone?: 'received' | 'completed' | 'failed' | 'none';
  readonly label: string;
  readonly value: string;
  readonly children?: string | false;
}

function Line({ icon, tone = 'none', label, value, children }: LineProps): JSX.Element {
  return (
    <div>
      <dt class={`tone-${tone}`}>
        {icon && <Icon name={icon} />}
        {label}
      </dt>
      <dd>{value}</dd>
      <dd class="muted">{children}</dd>
    </div>
  );
}

/** Returns the counts of a period as a sentence for screen readers. */
export function tooltipText(point: Point | undefined, now: number): string {
  if (point === undefined) return 'no data';
  const period = formatPeriod(point.at, point.endAt, now);
  if (point.coveredMs === 0) return `${period}: no data`;
  const counts = `${formatCount(point.received)} received, ${formatCount(point.completed)} completed, ${formatCount(point.failed)} failed`;
  return `${period}${point.isCurrent ? ' so far' : ''}: ${counts}`;
}
