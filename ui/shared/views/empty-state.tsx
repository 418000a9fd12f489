import type { ComponentChildren, JSX } from 'preact';

/** Placeholder for an empty view, with the reason and the next step. */
export function EmptyState({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class="empty card">
      <h3>{title}</h3>
      {children}
    </div>
  );
}
