import type { JSX } from 'preact';
import { formatMoment } from '../format/clock-time.js';

/** Time in the time zone of the viewer. */
export function Moment({ at }: { at: number }): JSX.Element {
  return <time dateTime={new Date(at).toISOString()}>{formatMoment(at, Date.now())}</time>;
}
