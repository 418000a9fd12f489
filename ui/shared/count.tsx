import type { JSX } from 'preact';
import { exactCount, formatCount } from '../format/count.js';

/** A count, shortened where it is long; the title then has it in full. */
export function Count({ value }: { value: number }): JSX.Element {
  return (
    <span class="count" title={exactCount(value)}>
      {formatCount(value)}
    </span>
  );
}
