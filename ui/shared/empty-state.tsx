import type { ComponentChildren, JSX } from 'preact';

/** What stands where there is nothing to show: why, and the way on. */
export function EmptyState({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class="empty card">
      <h3>{title}</h3>
      {children}
    </div>
  );
}
