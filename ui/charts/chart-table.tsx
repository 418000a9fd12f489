import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { TallyTable, type TallyTableProps } from '../shared/tally-table.js';

/** Data of a chart as a table that the user can open. Rows are minutes, newest first. */
export function ChartTable(props: Omit<TallyTableProps, 'head'>): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="disclosure" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{isOpen ? 'Hide data' : 'View data'}</summary>
      <TallyTable head="Minute" {...props} />
    </details>
  );
}
