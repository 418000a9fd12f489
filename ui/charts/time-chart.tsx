import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { formatPeriod, formatTick, formatTime } from '../format/clock-time.js';
import { formatPercentile } from '../format/duration.js';
import { formatCount, formatPercent, formatRate } from '../format/number.js';
import { Icon } from '../shared/icon.js';
import { useWidth } from '../shared/use-element.js';
import type { ChartMode, Selection } from '../state/navigation.js';
import { chartShape, LANE_GAP, LANE_HEIGHT, type Shapes, timeTicks } from './chart-shape.js';
import { type Point, perSecond } from './history-points.js';
import { type ChartMark, placeMarks } from './release-marks.js';
import { useCrosshair } from './use-crosshair.js';

export interface TimeChartProps {
  /** Name of the chart for screen readers. */
  readonly label: string;
  readonly points: readonly Point[];
  /** Time at which the counts were read, in epoch milliseconds. */
  readonly now: number;
  /** True if the counts are updated continually. Otherwise the right end has the time of the last one. */
  readonly isLive: boolean;
  readonly height: number;
  readonly mode?: ChartMode;
  /** Starts of releases, and losses. */
  readonly marks?: readonly ChartMark[];
  /** Period of the day before of each point. Empty: not shown. */
  readonly yesterday?: readonly (Point | undefined)[];
  readonly selection?: Selection | null;
  /** Called with a selected part of the chart. */
  readonly onSelect?: (selection: Selection) => void;
  /** Called for the Escape key if no point is pointed at. */
  readonly onEscape?: (() => void) | undefined;
}

const TICK_DISTANCE = 84;

/** Room that the name of a mark takes at most, in pixels. Without it to the right, it stands to the left of its mark. */
const NAME_WIDTH = 136;
/** Height of a line of names above the plot, in pixels. */
const NAME_HEIGHT = 14;

/**
 * Chart of received events, the failure rate or durations as lines, and of failed events as bars in a lane with a scale of
 * its own.
 */
export function TimeChart(props: TimeChartProps): JSX.Element {
  const { label, points, now, isLive, mode = 'count', yesterday = [], marks = [] } = props;
  const { selection = null, onSelect, onEscape } = props;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const crosshair = useCrosshair(box, points.length, (first, last) => {
    const [from, to] = [points[first]?.at, points[last]?.endAt];
    if (from !== undefined && to !== undefined) onSelect?.({ from, to });
  });
  const scaleText = SCALE_TEXT[mode];
  const slot = width / Math.max(1, points.length);
  const from = points[0]?.at ?? now;
  const to = points.at(-1)?.endAt ?? now;
  const xOf = (time: number): number => Math.round(((time - from) / (to - from)) * width);
  const inside = marks.filter(({ at }) => at > from && at < to).sort((a, b) => a.at - b.at);
  const placed = placeMarks(
    inside.map((mark) => ({ ...mark, x: xOf(mark.at) })),
    width,
    NAME_WIDTH,
  );
  // The names stand above the lines, within the height of the chart. A line ends at its name.
  const names = placed.length === 0 ? 0 : NAME_HEIGHT * (1 + Math.max(...placed.map(({ row }) => row)));
  const height = props.height - names;
  const shape = chartShape(points, width, height, { mode, yesterday });
  const total = height + LANE_GAP + LANE_HEIGHT;
  const pointed = crosshair.at === null ? undefined : points[crosshair.at];
  const [firstSelected, lastSelected] = crosshair.selecting ?? [];
  const marked =
    crosshair.selecting === null
      ? selection
      : { from: points[firstSelected ?? 0]?.at ?? from, to: points[lastSelected ?? 0]?.endAt ?? to };
  const ticks = timeTicks(from, to, Math.max(1, width / TICK_DISTANCE), -new Date(now).getTimezoneOffset() * 60_000);
  const per = shape.unit.factor === 1 ? '/s' : '/min';
  // Few failures beside many events.
  const isRare = per === '/s' && shape.failedTop < 1;
  return (
    <div class="chart" style={{ '--plot': `${height}px`, paddingBlockStart: `${names}px` }}>
      <div class="chart-scale" aria-hidden>
        <span>
          {scaleText(shape.top)}
          {mode === 'count' && per}
        </span>
        <span>{scaleText(shape.top / 2)}</span>
        <span>0</span>
        <span class={shape.failedTop > 0 ? 'tone-failed' : ''}>
          {countText(isRare ? 60 * shape.failedTop : shape.failedTop)}
          {shape.failedTop > 0 && (isRare ? '/min' : per)}
        </span>
      </div>
      <div
        ref={box}
        class="chart-plot"
        role="slider"
        tabIndex={0}
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, points.length - 1)}
        aria-valuenow={crosshair.at ?? Math.max(0, points.length - 1)}
        aria-valuetext={pointText(pointed ?? points.at(-1), now)}
        data-selects={onSelect !== undefined}
        data-selecting={onSelect !== undefined && crosshair.isSelecting}
        {...crosshair.handlers}
        onKeyDown={(event) => {
          if (event.key !== 'Escape' || crosshair.at !== null || onEscape === undefined)
            return crosshair.handlers.onKeyDown(event);
          event.preventDefault();
          onEscape();
        }}
      >
        <span class="chart-unknown" style={{ width: `${shape.unknownUntil}px` }} />
        {width > 0 && (
          <svg viewBox={`0 0 ${width} ${total}`} width={width} height={total} aria-hidden>
            <path class="chart-grid" d={`M0 .5H${width}M0 ${height / 2 + 0.5}H${width}`} />
            <path class="chart-base" d={`M0 ${height + 0.5}H${width}M0 ${total - 0.5}H${width}`} />
            <path class="chart-yesterday" d={shape.yesterday} />
            <Part shapes={shape.past} mode={mode} />
            <g class="chart-current">
              <Part shapes={shape.current} mode={mode} />
            </g>
            {placed.map(({ at, x, row, tone }) => (
              <path
                key={at}
                class={`chart-release is-${tone}`}
                d={`M${x + 0.5} ${row * NAME_HEIGHT - names}V${total}`}
              />
            ))}
            {marked !== null && to > from && (
              <rect
                class="chart-selection"
                x={xOf(Math.max(marked.from, from))}
                width={Math.max(0, xOf(Math.min(marked.to, to)) - xOf(Math.max(marked.from, from)))}
                height={total}
              />
            )}
            {crosshair.at !== null && (
              <path class="chart-crosshair" d={`M${Math.round((crosshair.at + 0.5) * slot) + 0.5} 0V${total}`} />
            )}
          </svg>
        )}
        {placed.map(({ at, x, row, endsAtLine, label: name, tone, link }) => (
          <span
            key={at}
            class={`chart-release-name is-${tone}`}
            data-before={endsAtLine}
            style={{ left: `${x}px`, top: `${row * NAME_HEIGHT - names}px` }}
            title={`${name} ${link} ${formatTime(at)}`}
          >
            {name}
          </span>
        ))}
        {pointed !== undefined && crosshair.at !== null && (
          <ChartTooltip
            point={pointed}
            before={yesterday[crosshair.at]}
            now={now}
            x={(crosshair.at + 0.5) * slot}
            isFlipped={crosshair.at > points.length / 2}
            selected={
              crosshair.selecting === null || marked === null ? undefined : formatPeriod(marked.from, marked.to, now)
            }
          />
        )}
      </div>
      <div class="chart-time" aria-hidden>
        {ticks.map((at) => {
          const x = xOf(at);
          return (
            x > 12 &&
            x < width - 76 && (
              <span key={at} style={{ left: `${x}px` }}>
                {formatTick(at)}
              </span>
            )
          );
        })}
        {points.length > 0 && (
          <span class="chart-end">{to < now ? formatTick(to) : isLive ? 'now' : formatTime(now)}</span>
        )}
      </div>
    </div>
  );
}

/** Line, area and bars of some periods. */
function Part({ shapes: { area, line, second, failures }, mode }: { shapes: Shapes; mode: ChartMode }): JSX.Element {
  return (
    <>
      <path class="chart-area" d={area} />
      <path class="chart-second" d={second} />
      <path class={`chart-line is-${mode}`} d={line} />
      <path class="chart-failed" d={failures} />
    </>
  );
}

const SCALE_TEXT: Readonly<Record<ChartMode, (value: number) => string>> = {
  count: countText,
  failures: (value) => `${countText(value)}%`,
  latency: (value) => formatPercentile(value).replace('~', ''),
};

function countText(value: number): string {
  return value >= 10 || value === 0 ? formatCount(Math.round(value)) : String(Number(value.toPrecision(2)));
}

export interface ChartTooltipProps {
  readonly point: Point;
  /** Same time of yesterday, if it is shown. */
  readonly before: Point | undefined;
  /** Time at which the counts were read, in epoch milliseconds. */
  readonly now: number;
  /** Position of the crosshair in pixels. */
  readonly x: number;
  /** True to show the tooltip left of the crosshair. */
  readonly isFlipped: boolean;
  /** Period of a selection in progress. */
  readonly selected: string | undefined;
}

/** Numbers of the period at the crosshair. */
function ChartTooltip({ point, before, now, x, isFlipped, selected }: ChartTooltipProps): JSX.Element {
  const { at, endAt, coveredMs, isCurrent } = point;
  return (
    <div class="chart-tooltip" style={{ left: `${x}px` }} data-flipped={isFlipped} aria-hidden>
      <p class="chart-tooltip-head">
        {selected === undefined ? formatPeriod(at, endAt, now) : `Select ${selected}`}
        {selected === undefined && isCurrent && <span class="muted"> so far</span>}
      </p>
      {coveredMs === 0 ? (
        <p class="muted">No data</p>
      ) : (
        <dl>
          {factsOf(point, before).map(({ icon, tone = 'none', label, value, more }) => (
            <div key={label}>
              <dt class={`tone-${tone}`}>
                {icon && <Icon name={icon} />}
                {label}
              </dt>
              <dd>{value}</dd>
              <dd class="muted">{more}</dd>
            </div>
          ))}
        </dl>
      )}
    </div>
  );
}

/** Number of a period. */
interface PointFact {
  /** Of a count. */
  readonly icon?: 'dot' | 'check' | 'triangle';
  readonly tone?: 'received' | 'completed' | 'failed';
  readonly label: string;
  readonly value: string;
  readonly more?: string;
}

function factsOf(point: Point, before?: Point): readonly PointFact[] {
  const { received, completed, failed, waitP95Ms, durationP95Ms } = point;
  return [
    { icon: 'dot', tone: 'received', label: 'Received', value: formatCount(received), more: rateText(point) },
    { icon: 'check', tone: 'completed', label: 'Completed', value: formatCount(completed) },
    {
      icon: 'triangle',
      label: 'Failed',
      value: formatCount(failed),
      ...(failed > 0 && { tone: 'failed', more: failedShare(point) }),
    },
    ...(waitP95Ms === null ? [] : [{ label: 'Waiting p95', value: formatPercentile(waitP95Ms) }]),
    ...(durationP95Ms === null ? [] : [{ label: 'Running p95', value: formatPercentile(durationP95Ms) }]),
    ...(before === undefined
      ? []
      : [
          {
            label: 'Yesterday',
            value: rateText(before),
            ...(before.failed > 0 && { more: `${failedShare(before)} ▲` }),
          },
        ]),
  ];
}

function rateText(point: Point): string {
  return formatRate(perSecond(point.received, point));
}

function failedShare({ completed, failed }: Point): string {
  return formatPercent(failed / Math.max(1, completed + failed));
}

/** Returns the numbers of a period as a sentence for screen readers. */
function pointText(point: Point | undefined, now: number): string {
  if (point === undefined) return 'no data';
  const period = formatPeriod(point.at, point.endAt, now);
  if (point.coveredMs === 0) return `${period}: no data`;
  const facts = factsOf(point).map(({ icon, label, value }) => {
    const name = label.toLowerCase();
    return icon === undefined ? `${name} ${value}` : `${value} ${name}`;
  });
  return `${period}${point.isCurrent ? ' so far' : ''}: ${facts.join(', ')}`;
}
