import type { JSX } from 'preact';
import { formatPeriod, formatTick } from '../format/clock-time.js';
import { UNKNOWN } from '../format/number.js';
import { ChartData } from '../shared/data-table.js';

/** Value of a period. */
export interface HourBar {
  /** Start and end in epoch milliseconds. */
  readonly at: number;
  readonly endAt: number;
  /** `null` if it is not known. */
  readonly value: number | null;
}

export interface HourBarsProps {
  /** Name of the chart for screen readers. */
  readonly label: string;
  /** Oldest first. */
  readonly bars: readonly HourBar[];
  /** Time at which the values were read, in epoch milliseconds. */
  readonly now: number;
  readonly format: (value: number) => string;
}

/** Periods between two labels of the time axis. */
const LABEL_EVERY = 4;

/** Bars of one value per period, with the same data as a table that the user can open. */
export function HourBars({ label, bars, now, format }: HourBarsProps): JSX.Element {
  const max = Math.max(0, ...bars.map(({ value }) => value ?? 0));
  const isKnown = bars.every(({ value }) => value !== null);
  const top = max > 0 ? format(max) : isKnown ? 'none' : 'not known';
  return (
    <>
      <div class="hour-bars" role="img" aria-label={`${label}, ${max > 0 ? 'at most ' : ''}${top}`}>
        <span class="hour-max" aria-hidden>
          {top}
        </span>
        {bars.map(({ at, endAt, value }, index) => (
          <span
            key={at}
            class="hour-bar"
            title={`${formatPeriod(at, endAt, now)}${endAt > now ? ' so far' : ''}: ${value === null ? UNKNOWN : format(value)}`}
          >
            <i
              class="hour-fill"
              style={{ height: max === 0 ? '0' : `${((value ?? 0) / max) * 100}%` }}
              data-any={(value ?? 0) > 0}
            />
            {(index % LABEL_EVERY === 0 || endAt > now) && (
              <span class="hour-tick">{endAt > now ? 'now' : formatTick(at)}</span>
            )}
          </span>
        ))}
      </div>
      <ChartData
        caption={label}
        columns={['Time', label]}
        rows={() =>
          bars.map(({ at, endAt, value }) => [formatPeriod(at, endAt, now), value === null ? UNKNOWN : format(value)])
        }
      />
    </>
  );
}
