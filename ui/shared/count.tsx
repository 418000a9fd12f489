import type { JSX } from 'preact';
import { exactCount, formatCount } from '../format/count.js';

/** Count, shortened if it is large. The title then has the exact value. */
export function Count({ value }: { value: number }): JSX.Element {
  return (
    <span class="count" title={exactCount(value)}>
      {formatCount(value)}
    </span>
  );
}
