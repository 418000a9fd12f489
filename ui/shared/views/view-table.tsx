import type { ComponentChildren, JSX } from 'preact';

export interface ViewTableProps {
  readonly caption: string;
  readonly columns: readonly string[];
  /** Rows. */
  readonly children: ComponentChildren;
  readonly class?: string;
}

/** Table of a view. In little width each row is a list of its values. */
export function ViewTable({ caption, columns, children, class: name = '' }: ViewTableProps): JSX.Element {
  return (
    <div class="card">
      <table class={`view-table ${name}`}>
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
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

export interface ViewTableCellProps {
  /** Label of the column, which the cell shows if the table has no columns. */
  readonly label: string;
  readonly isFailed?: boolean;
  readonly children: ComponentChildren;
}

/** Value in a row of a view's table. */
export function ViewTableCell({ label, isFailed = false, children }: ViewTableCellProps): JSX.Element {
  return (
    <td data-label={label} class={isFailed ? 'tone-failed' : undefined}>
      <div>{children}</div>
    </td>
  );
}

/** Further line below a value. */
export function ViewTableNote({ children }: { children: ComponentChildren }): JSX.Element {
  return <span class="view-table-note">{children}</span>;
}
