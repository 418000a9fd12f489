import type { JSX } from 'preact';
import type { Tally } from '../store/history.js';
import { Count } from './count.js';

export interface TallyTableProps {
  readonly caption: string;
  /** What a row is about. */
  readonly head: string;
  readonly rows: readonly (Tally & { readonly name: string })[];
}

/** Counts under each other. */
export function TallyTable({ caption, head, rows }: TallyTableProps): JSX.Element {
  return (
    <table class="data-table">
      <caption class="visually-hidden">{caption}</caption>
      <thead>
        <tr>
          {[head, 'Received', 'Completed', 'Failed'].map((label) => (
            <th key={label} scope="col">
              {label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ name, received, completed, failed }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            {[received, completed, failed].map((count, index) => (
              <td key={index}>
                <Count value={count} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
