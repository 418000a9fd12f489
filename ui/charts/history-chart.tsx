import type { JSX } from 'preact';
import type { Histories } from '../../server/dashboard/protocol.js';
import { formatPeriod } from '../format/clock-time.js';
import { Icon } from '../shared/icon.js';
import type { Monitor } from '../state/monitor.js';
import type { ChartMode, Navigation } from '../state/navigation.js';
import { ChartLegend, ChartOptions, chartTitle, PeriodTable } from './chart-parts.js';
import {
  countedSince,
  dayBefore,
  historyOfRange,
  historyPoints,
  RANGE_LABEL,
  rangeToShow,
  zoomedPoints,
} from './history-points.js';
import { lossMarks, releaseMarks } from './release-marks.js';
import { TimeChart } from './time-chart.js';

export interface HistoryChartProps {
  /** `undefined` before the first response. */
  readonly histories: Histories | undefined;
  /** Time at which the counts were read, in epoch milliseconds. */
  readonly now: number;
  readonly monitor: Monitor;
  readonly navigation: Navigation;
  readonly heading: 'h2' | 'h3';
  /** Id of the heading. */
  readonly id?: string;
  /** Words after the title that tell of what the chart is, with a blank before them. */
  readonly scope?: string;
  /** Height of the plot in pixels. */
  readonly height: number;
  /** Values that are always shown. Absent: the reader chooses them. */
  readonly mode?: ChartMode;
  /** A selected part of the chart fills it, and is the period of the view. */
  readonly isSelectable?: boolean;
}

/** Chart of histories that the hub keeps, with its title, its options and its data as a table. */
export function HistoryChart(props: HistoryChartProps): JSX.Element {
  const { histories, now, monitor, navigation, heading: Heading, id, scope = '', height } = props;
  const { mode = navigation.route.value.chart, isSelectable = false } = props;
  const { store, connection } = monitor;
  const startedAt = histories === undefined ? null : countedSince(histories, store.reading.value.startedAt);
  const { selection, yesterday, range: chosen } = navigation.route.value;
  const range = histories === undefined ? '1h' : rangeToShow(chosen, histories, now, startedAt);
  const zoomed =
    histories === undefined || selection === null || !isSelectable
      ? null
      : zoomedPoints(histories, selection, now, startedAt);
  const points =
    zoomed ?? (histories === undefined ? [] : historyPoints(historyOfRange(histories, range), now, startedAt));
  const period =
    zoomed === null || selection === null
      ? `last ${RANGE_LABEL[range]}`
      : formatPeriod(selection.from, selection.to, now);
  const showAll = (): void => navigation.go({ selection: null });
  const before = histories === undefined ? [] : dayBefore(points, histories, now, startedAt);
  const title = chartTitle(mode, points);
  return (
    <>
      <div class="chart-head">
        <Heading id={id}>{title}</Heading>
        <ChartLegend mode={mode} />
        {zoomed !== null && (
          <button type="button" class="chip zoom-out" onClick={showAll}>
            <Icon name="back" /> Zoom out
          </button>
        )}
        <ChartOptions
          navigation={navigation}
          isFixed={props.mode !== undefined}
          range={zoomed === null ? range : null}
          hasYesterday={before.some((point) => point !== undefined)}
          onRange={(next) =>
            navigation.go({ range: next, ...(zoomed !== null && { selection: null }) }, { replace: true })
          }
        />
      </div>
      <TimeChart
        label={`${title}${scope}, ${period}`}
        points={points}
        now={now}
        isLive={connection.value.kind === 'live' || connection.value.kind === 'slow'}
        height={height}
        mode={mode}
        marks={[...releaseMarks(store.releases.value), ...lossMarks(store.lost.value)]}
        yesterday={yesterday && props.mode === undefined ? before : []}
        selection={isSelectable && zoomed === null ? selection : null}
        {...(isSelectable && { onSelect: (next) => navigation.go({ selection: next }) })}
        onEscape={isSelectable && selection !== null ? showAll : undefined}
      />
      <PeriodTable caption={`Events${scope}, ${period}`} mode={mode} points={points} now={now} />
    </>
  );
}
