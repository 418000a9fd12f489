import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';

export interface DataTableProps {
  readonly caption: string;
  /** Headers, that of the names of the rows first. */
  readonly columns: readonly string[];
  readonly rows: readonly DataRow[];
}

/** Name of a row, and its value in each further column. */
export type DataRow = readonly [name: string, ...values: readonly ComponentChildren[]];

/** Small table of numbers. */
export function DataTable({ caption, columns, rows }: DataTableProps): JSX.Element {
  return (
    <table class="data-table">
      <caption class="visually-hidden">{caption}</caption>
      <thead>
        <tr>
          {columns.map((label) => (
            <th key={label} scope="col">
              {label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, ...values]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            {values.map((value, index) => (
              <td key={index}>{value}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export interface ChartDataProps extends Omit<DataTableProps, 'rows'> {
  /** Returns the rows, from the oldest to the newest. Called while the table is open. */
  readonly rows: () => readonly DataRow[];
}

/** Data of a chart as a table that the user can open, the newest first. */
export function ChartData({ rows, ...table }: ChartDataProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="disclosure" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{isOpen ? 'Hide data' : 'View data'}</summary>
      {isOpen && <DataTable {...table} rows={rows().toReversed()} />}
    </details>
  );
}
