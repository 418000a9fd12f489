import type { JSX } from 'preact';

/** Stands in for what is shown before the first answer. */
export function TableSkeleton(): JSX.Element {
  return (
    <div class="card skeleton">
      <p class="visually-hidden">Loading event types.</p>
    </div>
  );
}
