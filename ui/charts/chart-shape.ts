import type { ChartMode } from '../state/navigation.js';
import { type Point, perSecond } from './history-points.js';

/** Heights of the failure lane and of the gap above it in pixels. */
export const LANE_GAP = 10;
export const LANE_HEIGHT = 24;

const MIN_BAR = 1;

/** Part of the current period from which its rate is drawn beside those of others. */
const RATED_PART = 0.25;

/** Minimum height of a bar in the failure lane, so that one failure shows beside hundreds. */
const FLOOR = 2;

/** Unit of a chart. */
export interface Unit {
  readonly name: 'second' | 'minute';
  /** Factor from events per second. */
  readonly factor: number;
}

/** Path data of a part of a chart. */
export interface Shapes {
  /** Line of the first value. */
  readonly line: string;
  /** Line of the second value, such as the waiting time; empty if there is none. */
  readonly second: string;
  /** Area below the first line; empty for values that do not add up. */
  readonly area: string;
  /** Bars of failed events. */
  readonly failures: string;
}

/** Data of a chart beside its points. */
export interface ChartContent {
  readonly mode?: ChartMode;
  /** Period of the day before of each point. */
  readonly yesterday?: readonly (Point | undefined)[];
}

/** Chart of a history in pixels. */
export interface ChartShape {
  readonly unit: Unit;
  /** Top of the scale: events in the unit, percent, or milliseconds. */
  readonly top: number;
  /** Top of the scale of the failure lane, in the unit; 0 if nothing failed. */
  readonly failedTop: number;
  /** Periods that are over. */
  readonly past: Shapes;
  /** Period that has not ended, whose counts still grow. */
  readonly current: Shapes;
  /** Line of the first value of yesterday; empty if it is not known. */
  readonly yesterday: string;
  /** Right end of the time without data at the start; 0 if there is none. */
  readonly unknownUntil: number;
}

/** Lays out the points of a history on this width. */
export function chartShape(
  points: readonly Point[],
  width: number,
  plotHeight: number,
  { mode = 'count', yesterday = [] }: ChartContent = {},
): ChartShape {
  const slot = width / Math.max(1, points.length);
  const failed = points.map((point) => perSecond(point.failed, point));
  const known = [...points.entries()].filter(([, { coveredMs }]) => coveredMs > 0);
  // A period that has just begun does not change the scale.
  const rated = known.length === 1 ? points : points.filter(hasRate);
  const unit = unitOf(Math.max(0, ...rated.map((point) => perSecond(point.received, point))));
  const read = VALUE_OF[mode];
  const first = points.map((point) => read(point, unit));
  const scaled = rated.map((point) => read(point, unit));
  const second = mode === 'latency' ? points.map(({ waitP95Ms }) => waitP95Ms) : [];
  const before = yesterday.map((point) => (point === undefined ? null : read(point, unit)));
  const top = niceCeiling(Math.max(0, ...[...scaled, ...second, ...before].map((value) => value ?? 0)));
  const maxFailed = Math.max(0, ...failed) * unit.factor;
  const failedTop = maxFailed === 0 ? 0 : niceCeiling(maxFailed);
  const firstKnown = points.findIndex(({ coveredMs }) => coveredMs > 0);
  // Lines other than that of counts cover whole periods.
  const unknown = mode === 'count' ? unknownPart(points[firstKnown], firstKnown) : firstKnown;
  const knownFrom = firstKnown === -1 ? width : round(unknown * slot);
  const heightOf = (value: number): number => round(plotHeight - (value / top) * plotHeight);
  /** Lays out some of the known points, from `from` with the height of the point before. */
  const shapesOf = (isCurrent: boolean, from: number, fromHeight: number | undefined): Shapes => {
    let [line, failures] = ['', ''];
    let end = from;
    for (const [index, point] of known) {
      if (point.isCurrent !== isCurrent) continue;
      const x = round((index + 0.5) * slot);
      const value = first[index] ?? null;
      if (mode === 'count' && value !== null) {
        const y = hasRate(point) || fromHeight === undefined ? heightOf(value) : fromHeight;
        if (line === '') line = `M${from} ${fromHeight ?? y}`;
        line += `L${Math.max(x, from)} ${y}`;
        end = round(x + slot / 2);
      }
      const rate = (failed[index] ?? 0) * unit.factor;
      const left = Math.max(x - slot / 2, knownFrom);
      if (rate > 0)
        failures += failureBar(left, x + slot / 2, plotHeight, Math.max(FLOOR, (rate / failedTop) * LANE_HEIGHT));
    }
    // The line covers whole periods, so it reaches the ends of the first and the last one.
    if (line !== '') line += `H${end}`;
    const area = line === '' ? '' : `${line}V${plotHeight}H${from}Z`;
    if (mode === 'count') return { line, second: '', area, failures };
    const drawn = (values: readonly (number | null)[]): string =>
      brokenLine(
        values.map((value, index) => (points[index]?.isCurrent === isCurrent ? value : null)),
        slot,
        heightOf,
      );
    return { line: drawn(first), second: drawn(second), area: '', failures };
  };
  const start = Math.max(round((known[0]?.[0] ?? 0) * slot), knownFrom);
  const lastPast = known.findLast(([, { isCurrent }]) => !isCurrent)?.[0];
  const past = shapesOf(false, start, undefined);
  const current =
    lastPast === undefined
      ? shapesOf(true, start, undefined)
      : shapesOf(true, round((lastPast + 1) * slot), heightOf(first[lastPast] ?? 0));
  return {
    unit,
    top,
    failedTop,
    past,
    current,
    yesterday: brokenLine(before, slot, heightOf),
    unknownUntil: knownFrom,
  };
}

/** First value of a period per mode; `null` if it has none. */
const VALUE_OF: Readonly<Record<ChartMode, (point: Point, unit: Unit) => number | null>> = {
  count: (point, { factor }) => perSecond(point.received, point) * factor,
  failures: ({ completed, failed }) => (completed + failed === 0 ? null : (failed / (completed + failed)) * 100),
  latency: ({ durationP95Ms }) => durationP95Ms,
};

/** Returns a line through the middles of the slots. It breaks at unknown values. */
function brokenLine(values: readonly (number | null)[], slot: number, heightOf: (value: number) => number): string {
  let line = '';
  let last: number | null = null;
  for (const [index, value] of values.entries()) {
    const x = (index + 0.5) * slot;
    if (value !== null) {
      // A single value is as wide as its slot.
      if (last === null) line += `M${round(x - slot / 2)} ${heightOf(value)}`;
      line += last === null ? `H${round(x)}` : `L${round(x)} ${heightOf(value)}`;
      if ((values[index + 1] ?? null) === null) line += `H${round(x + slot / 2)}`;
    }
    last = value;
  }
  return line;
}

/** Returns true if enough of a period has passed for a rate. Before, the line stays at the height of the period before. */
function hasRate({ isCurrent, coveredMs, at, endAt }: Point): boolean {
  return !isCurrent || coveredMs >= RATED_PART * (endAt - at);
}

/** Returns the number of slots before the first known time. */
function unknownPart(first: Point | undefined, index: number): number {
  if (first === undefined || first.isCurrent) return index;
  return index + 1 - first.coveredMs / (first.endAt - first.at);
}

function unitOf(maxPerSecond: number): Unit {
  return maxPerSecond >= 1 ? { name: 'second', factor: 1 } : { name: 'minute', factor: 60 };
}

function failureBar(left: number, right: number, plotHeight: number, height: number): string {
  // As wide as its period, so that a release stands within the bar of its period, not behind it.
  const width = Math.max(MIN_BAR, right - left - 1);
  const foot = plotHeight + LANE_GAP + LANE_HEIGHT;
  return `M${round((left + right - width) / 2)} ${foot}v${-round(height)}h${round(width)}v${round(height)}z`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

const FACTORS = [1, 1.5, 2, 3, 4, 5, 6, 8];

/** Returns the top of a chart's scale: the smallest round number that is not less than `max`; 1 if `max` is 0. */
export function niceCeiling(max: number): number {
  if (max <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(max));
  return (FACTORS.find((factor) => factor * power >= max) ?? 10) * power;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Distances between ticks that read well, in milliseconds. */
export const TICK_STEPS: readonly number[] = [
  MINUTE,
  2 * MINUTE,
  5 * MINUTE,
  10 * MINUTE,
  15 * MINUTE,
  30 * MINUTE,
  HOUR,
  2 * HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
  DAY,
  2 * DAY,
  7 * DAY,
];

/**
 * Returns at most `max` round clock times between two times, in epoch milliseconds.
 *
 * @param zoneOffsetMs offset of the viewer's time zone: local time less UTC
 */
export function timeTicks(from: number, to: number, max: number, zoneOffsetMs: number): readonly number[] {
  const step = TICK_STEPS.find((each) => (to - from) / each <= max) ?? 7 * DAY;
  const first = Math.ceil((from + zoneOffsetMs) / step) * step - zoneOffsetMs;
  const ticks: number[] = [];
  for (let at = first; at <= to; at += step) ticks.push(at);
  return ticks;
}
