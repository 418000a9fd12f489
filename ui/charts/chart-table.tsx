import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { formatPeriod } from '../format/clock-time.js';
import { Segments, Select } from '../shared/choices.js';
import { TallyTable } from '../shared/counts.js';
import { Icon } from '../shared/icon.js';
import { CHART_MODES, type ChartMode, type Navigation, RANGES, type Range } from '../state/navigation.js';
import { type Point, perSecond, RANGE_LABEL } from './history-points.js';

export interface ChartTableProps {
  readonly caption: string;
  /** Oldest first. */
  readonly points: readonly Point[];
  /** Time at which the counts were read, in epoch milliseconds. */
  readonly now: number;
}

/** Data of a chart as a table that the user can open, newest first. */
export function ChartTable({ caption, points, now }: ChartTableProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="disclosure" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{isOpen ? 'Hide data' : 'View data'}</summary>
      {isOpen && (
        <TallyTable
          caption={caption}
          head="Time"
          rows={points
            .filter(({ coveredMs }) => coveredMs > 0)
            .map((point) => ({
              ...point,
              name: `${formatPeriod(point.at, point.endAt, now)}${point.isCurrent ? ' so far' : ''}`,
            }))
            .reverse()}
        />
      )}
    </details>
  );
}

export interface ChartOptionsProps {
  readonly navigation: Navigation;
  /** Title of the chart if it shows counts, with their unit. */
  readonly unit: string;
  /** Shown range; `null` if the chart shows another period. */
  readonly range: Range | null;
  /** The day before is known. */
  readonly hasYesterday: boolean;
  /** Called with a chosen range. */
  readonly onRange: (range: Range) => void;
}

const MODE_LABEL: Record<ChartMode, string> = { count: 'Count', failures: 'Failure %', latency: 'Latency' };

/** Buttons that choose the values, the comparison and the range of a chart. With little width, a box chooses the values. */
export function ChartOptions({ navigation, unit, range, hasYesterday, onRange }: ChartOptionsProps): JSX.Element {
  const { chart, yesterday } = navigation.route.value;
  const choose = (next: ChartMode): void => navigation.go({ chart: next }, { replace: true });
  return (
    <div class="chart-options">
      <Segments
        label="Values of the chart"
        options={CHART_MODES}
        nameOf={(mode) => MODE_LABEL[mode]}
        value={chart}
        onChange={choose}
      />
      <div class="chart-mode">
        <Select
          label="Values of the chart"
          options={CHART_MODES}
          nameOf={(mode) => (mode === 'count' && chart === 'count' ? unit : MODE_LABEL[mode])}
          value={chart}
          onChange={choose}
        />
      </div>
      <button
        type="button"
        class="chip chart-yesterday"
        aria-pressed={yesterday}
        disabled={!hasYesterday}
        title={hasYesterday ? 'Compare with the same time of yesterday' : 'Yesterday is not known at this range'}
        onClick={() => navigation.go({ yesterday: !yesterday }, { replace: true })}
      >
        Yesterday
      </button>
      <Segments
        label="Range of the chart"
        options={RANGES}
        nameOf={(each) => RANGE_LABEL[each]}
        value={range}
        onChange={onRange}
      />
    </div>
  );
}

/** Returns the title of a chart: its values, with their unit. */
export function chartTitle(mode: ChartMode, points: readonly Point[]): string {
  if (mode === 'failures') return 'Failure rate';
  if (mode === 'latency') return 'Durations, p95';
  return `Events per ${points.some((point) => perSecond(point.received, point) >= 1) ? 'second' : 'minute'}`;
}

/** Names and looks of the lines of a chart. Tooltip and table say the same to screen readers. */
export function ChartLegend({ mode }: { mode: ChartMode }): JSX.Element {
  return (
    <ul class="legend" aria-hidden="true">
      {mode === 'latency' ? (
        <>
          <li class="tone-completed">
            <Icon name="dot" /> Running
          </li>
          <li class="tone-stale">
            <Icon name="clock" /> Waiting
          </li>
        </>
      ) : (
        mode === 'count' && (
          <li class="tone-received">
            <Icon name="dot" /> Received
          </li>
        )
      )}
      <li class="tone-failed">
        <Icon name="triangle" /> Failed
      </li>
    </ul>
  );
}
