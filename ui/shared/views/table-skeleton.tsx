import type { JSX } from 'preact';

/** Placeholder until the first response arrives. */
export function TableSkeleton(): JSX.Element {
  return (
    <div class="card skeleton">
      <p class="visually-hidden">Loading event types.</p>
    </div>
  );
}
