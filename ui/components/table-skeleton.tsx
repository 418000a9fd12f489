import type { JSX } from 'preact';

const ROWS = 8;

/** Stands in for the table before the first answer. */
export function TableSkeleton(): JSX.Element {
  return (
    <div class="card skeleton">
      <p class="visually-hidden">Loading event types.</p>
      {Array.from({ length: ROWS }, (_, index) => (
        <div key={index} class="skeleton-row" aria-hidden="true">
          <span />
          <span />
          <span />
        </div>
      ))}
    </div>
  );
}
