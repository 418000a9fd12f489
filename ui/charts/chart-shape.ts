import { type Point, perSecond } from './history-points.js';
import { niceCeiling } from './nice-ceiling.js';

/** Heights of the failure lane and of the gap above it in pixels. */
export const LANE_GAP = 10;
export const LANE_HEIGHT = 24;

const MAX_BAR = 12;
const MIN_BAR = 1;

/** Minimum height of a bar in the failure lane, so that one failure shows beside hundreds. */
const FLOOR = 2;

/** Unit of a chart. */
export interface Unit {
  readonly name: 'second' | 'minute';
  /** Factor from events per second. */
  readonly factor: number;
}

/** Chart of a history in pixels. */
export interface ChartShape {
  readonly unit: Unit;
  /** Top of the scale of received events, in the unit. */
  readonly top: number;
  /** Top of the scale of the failure lane, in the unit; 0 if nothing failed. */
  readonly failedTop: number;
  /** Path data of the line of received events. */
  readonly line: string;
  /** Path data of the area below it. */
  readonly area: string;
  /** Path data of the bars of failed events. */
  readonly failures: string;
  /** Right end of the time without data at the start; 0 if there is none. */
  readonly unknownUntil: number;
}

/** Lays out the points of a history on this width. */
export function chartShape(points: readonly Point[], width: number, plotHeight: number): ChartShape {
  const slot = width / Math.max(1, points.length);
  const received = points.map((point) => perSecond(point.received, point));
  const failed = points.map((point) => perSecond(point.failed, point));
  const unit = unitOf(Math.max(0, ...received));
  const top = niceCeiling(Math.max(0, ...received) * unit.factor);
  const maxFailed = Math.max(0, ...failed) * unit.factor;
  const failedTop = maxFailed === 0 ? 0 : niceCeiling(maxFailed);
  const firstKnown = points.findIndex(({ coveredMs }) => coveredMs > 0);
  const knownFrom = firstKnown === -1 ? width : round(unknownPart(points[firstKnown], firstKnown) * slot);
  let [line, area, failures] = ['', '', ''];
  let start: number | undefined;
  let [last, lastY] = [0, 0];
  for (const [index, point] of points.entries()) {
    const x = round((index + 0.5) * slot);
    if (point.coveredMs > 0) {
      const y = round(plotHeight - (((received[index] ?? 0) * unit.factor) / top) * plotHeight);
      if (start === undefined) {
        start = Math.max(round(index * slot), knownFrom);
        line += `M${start} ${y}`;
      }
      line += `L${Math.max(x, start)} ${y}`;
      last = x;
      lastY = y;
    }
    const rate = (failed[index] ?? 0) * unit.factor;
    if (rate > 0) failures += failureBar(x, slot, plotHeight, Math.max(FLOOR, (rate / failedTop) * LANE_HEIGHT));
  }
  // The line covers whole periods, so it reaches both ends of the chart.
  if (start !== undefined) {
    last = round(last + slot / 2);
    line += `L${last} ${lastY}`;
  }
  if (start !== undefined) area = `${line}L${last} ${plotHeight}L${start} ${plotHeight}Z`;
  return { unit, top, failedTop, line, area, failures, unknownUntil: knownFrom };
}

/** Returns the number of slots before the first known time. */
function unknownPart(first: Point | undefined, index: number): number {
  if (first === undefined || first.isCurrent) return index;
  return index + 1 - first.coveredMs / (first.endAt - first.at);
}

function unitOf(maxPerSecond: number): Unit {
  return maxPerSecond >= 1 ? { name: 'second', factor: 1 } : { name: 'minute', factor: 60 };
}

function failureBar(x: number, slot: number, plotHeight: number, height: number): string {
  const width = Math.max(MIN_BAR, Math.min(MAX_BAR, slot - 1));
  const foot = plotHeight + LANE_GAP + LANE_HEIGHT;
  return `M${round(x - width / 2)} ${foot}v${-round(height)}h${round(width)}v${round(height)}z`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
