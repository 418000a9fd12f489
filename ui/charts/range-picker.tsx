import type { JSX } from 'preact';
import { RANGES, type Range } from '../routing/route.js';
import { RANGE_LABEL } from './history-points.js';

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
