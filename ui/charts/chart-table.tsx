import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { formatPeriod } from '../format/clock-time.js';
import { TallyTable } from '../shared/counts.js';
import { RANGES, type Range } from '../state/navigation.js';
import { type Point, RANGE_LABEL } from './history-points.js';

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

export interface RangePickerProps {
  /** Shown range; `null` if the chart shows another period. */
  readonly value: Range | null;
  readonly onChange: (range: Range) => void;
}

/** Buttons that choose the range of the charts. */
export function RangePicker({ value, onChange }: RangePickerProps): JSX.Element {
  return (
    <fieldset class="segments">
      <legend class="visually-hidden">Range of the chart</legend>
      {RANGES.map((range) => (
        <button key={range} type="button" aria-pressed={range === value} onClick={() => onChange(range)}>
          {RANGE_LABEL[range]}
        </button>
      ))}
    </fieldset>
  );
}
