import type { JSX } from 'preact';
import { formatPeriod } from '../format/clock-time.js';
import { formatPercentile } from '../format/duration.js';
import { Segments, Select } from '../shared/choices.js';
import { Count } from '../shared/counts.js';
import { ChartData, type DataRow } from '../shared/data-table.js';
import { Icon } from '../shared/icon.js';
import { CHART_MODES, type ChartMode, type Navigation, RANGES, type Range } from '../state/navigation.js';
import { type Point, perSecond, RANGE_LABEL } from './history-points.js';

export interface PeriodTableProps {
  readonly caption: string;
  readonly mode: ChartMode;
  /** Oldest first. */
  readonly points: readonly Point[];
  /** Time at which the counts were read, in epoch milliseconds. */
  readonly now: number;
}

/** Data of a chart as a table that the user can open: counts, or durations if the chart has them. */
export function PeriodTable({ caption, mode, points, now }: PeriodTableProps): JSX.Element {
  const isLatency = mode === 'latency';
  return (
    <ChartData
      caption={caption}
      columns={['Time', ...(isLatency ? ['Waiting p95', 'Running p95'] : ['Received', 'Completed']), 'Failed']}
      rows={() =>
        points
          .filter(({ coveredMs }) => coveredMs > 0)
          .map(
            ({ at, endAt, isCurrent, waitP95Ms, durationP95Ms, received, completed, failed }): DataRow => [
              `${formatPeriod(at, endAt, now)}${isCurrent ? ' so far' : ''}`,
              ...(isLatency
                ? [formatPercentile(waitP95Ms), formatPercentile(durationP95Ms)]
                : [<Count key="received" value={received} />, <Count key="completed" value={completed} />]),
              <Count key="failed" value={failed} />,
            ],
          )
      }
    />
  );
}

export interface ChartOptionsProps {
  readonly navigation: Navigation;
  /** The reader chooses the range alone. */
  readonly isFixed: boolean;
  /** Shown range; `null` if the chart shows another period. */
  readonly range: Range | null;
  /** The day before is known. */
  readonly hasYesterday: boolean;
  /** Called with a chosen range. */
  readonly onRange: (range: Range) => void;
}

const MODE_LABEL: Record<ChartMode, string> = { count: 'Count', failures: 'Failure %', latency: 'Latency' };

/** Buttons that choose the values, the comparison and the range of a chart. With little width, a box chooses the values. */
export function ChartOptions({ navigation, isFixed, range, hasYesterday, onRange }: ChartOptionsProps): JSX.Element {
  const { chart, yesterday } = navigation.route.value;
  const modes = {
    label: 'Values of the chart',
    options: CHART_MODES,
    nameOf: (mode: ChartMode) => MODE_LABEL[mode],
    value: chart,
    onChange: (next: ChartMode) => navigation.go({ chart: next }, { replace: true }),
  };
  return (
    <div class="chart-options">
      {!isFixed && (
        <>
          <Segments {...modes} />
          <div class="chart-mode">
            <Select {...modes} />
          </div>
          <button
            type="button"
            class="chip chart-yesterday"
            aria-pressed={yesterday}
            disabled={!hasYesterday}
            onClick={() => navigation.go({ yesterday: !yesterday }, { replace: true })}
          >
            Yesterday
          </button>
        </>
      )}
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
    <ul class={`legend is-${mode}`} aria-hidden>
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
