import type { JSX } from 'preact';
import { TallyTable, type TallyTableProps } from '../shared/tally-table.js';

/** What a chart shows, in numbers; rows are minutes, the newest first. */
export function ChartTable(props: Omit<TallyTableProps, 'head'>): JSX.Element {
  return (
    <details class="disclosure">
      <summary>Show as a table</summary>
      <TallyTable head="Minute" {...props} />
    </details>
  );
}
