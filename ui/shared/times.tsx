import type { JSX } from 'preact';
import { formatDateTime, formatMoment } from '../format/clock-time.js';
import { formatAgo, formatAhead } from '../format/duration.js';
import { ViewTableNote } from './view-table.js';

export interface TimeProps {
  /** Epoch milliseconds. */
  readonly at: number;
  /** Current time in epoch milliseconds on the server's clock. */
  readonly now: number;
}

/** Time since an event. The title has its date and time. */
export function Ago({ at, now }: TimeProps): JSX.Element {
  return (
    <time dateTime={new Date(at).toISOString()} title={formatDateTime(at)}>
      {formatAgo(now - at)}
    </time>
  );
}

/** Day and time in the time zone of the viewer. */
export function Moment({ at }: Pick<TimeProps, 'at'>): JSX.Element {
  return (
    <time dateTime={new Date(at).toISOString()} title={formatDateTime(at)}>
      {formatMoment(at, Date.now())}
    </time>
  );
}

/** Day and time, and below it how long ago it was or in what time it will be. */
export function MomentAndAge({ at, now }: TimeProps): JSX.Element {
  return (
    <>
      <Moment at={at} />
      <ViewTableNote>{at > now ? `in ${formatAhead(at - now)}` : formatAgo(now - at)}</ViewTableNote>
    </>
  );
}
