import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { formatPeriod, formatTick } from '../format/clock-time.js';
import { UNKNOWN } from '../format/number.js';

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
  readonly tone?: 'received' | 'failed';
}

/** Periods between two labels of the time axis. */
const LABEL_EVERY = 4;

/** Bars of one value per period, with the same data as a table that the user can open. */
export function HourBars({ label, bars, now, format, tone = 'received' }: HourBarsProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const max = Math.max(0, ...bars.map(({ value }) => value ?? 0));
  return (
    <>
      <div class={`hour-bars is-${tone}`} role="img" aria-label={`${label}, at most ${format(max)}`}>
        <span class="hour-max" aria-hidden="true">
          {max > 0 && format(max)}
        </span>
        {bars.map(({ at, endAt, value }, index) => (
          <span
            key={at}
            class="hour-bar"
            title={`${formatPeriod(at, endAt, now)}${endAt > now ? ' so far' : ''}: ${value === null ? UNKNOWN : format(value)}`}
          >
            <i
              class="hour-fill"
              style={{ blockSize: max === 0 ? '0' : `${((value ?? 0) / max) * 100}%` }}
              data-any={(value ?? 0) > 0}
            />
            {index % LABEL_EVERY === 0 && <span class="hour-tick">{formatTick(at)}</span>}
          </span>
        ))}
      </div>
      <details class="disclosure" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>{isOpen ? 'Hide data' : 'View data'}</summary>
        {isOpen && (
          <table class="data-table">
            <caption class="visually-hidden">{label}</caption>
            <thead>
              <tr>
                <th scope="col">Time</th>
                <th scope="col">{label}</th>
              </tr>
            </thead>
            <tbody>
              {bars.toReversed().map(({ at, endAt, value }) => (
                <tr key={at}>
                  <th scope="row">{formatPeriod(at, endAt, now)}</th>
                  <td>{value === null ? UNKNOWN : format(value)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </details>
    </>
  );
}
