import type { ComponentChildren, JSX } from 'preact';

/** Section of the panel with a heading. */
export function PanelSection({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <section class="panel-section">
      <h3>{title}</h3>
      {children}
    </section>
  );
}
