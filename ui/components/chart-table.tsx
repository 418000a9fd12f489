import type { JSX } from 'preact';
import { formatCount } from '../format/count.js';
import type { Tally } from '../state/history.js';

export interface ChartTableProps {
  readonly caption: string;
  /** Newest first. */
  readonly rows: readonly (Tally & { readonly time: string })[];
}

/** What a chart shows, in numbers. */
export function ChartTable({ caption, rows }: ChartTableProps): JSX.Element {
  return (
    <details class="disclosure">
      <summary>Show as a table</summary>
      <table class="data-table">
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            <th scope="col">Minute</th>
            <th scope="col">Received</th>
            <th scope="col">Completed</th>
            <th scope="col">Failed</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ time, received, completed, failed }) => (
            <tr key={time}>
              <th scope="row">{time}</th>
              <td>{formatCount(received)}</td>
              <td>{formatCount(completed)}</td>
              <td>{formatCount(failed)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
