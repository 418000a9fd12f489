import type { JSX } from 'preact';
import type { Counts } from '../../server/dashboard/protocol.js';
import { Count } from './count.js';

export interface TallyTableProps {
  readonly caption: string;
  /** Header of the first column. */
  readonly head: string;
  readonly rows: readonly (Pick<Counts, 'received' | 'completed' | 'failed'> & { readonly name: string })[];
}

/** Table of received, completed and failed counts. */
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
