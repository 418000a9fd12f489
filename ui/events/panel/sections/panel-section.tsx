import type { ComponentChildren, JSX } from 'preact';

export interface PanelSectionProps {
  readonly title: string;
  /** Period of the section's numbers. */
  readonly period?: string;
  readonly children: ComponentChildren;
}

/** Section of the panel with a heading. */
export function PanelSection({ title, period, children }: PanelSectionProps): JSX.Element {
  return (
    <section class="panel-section">
      <h3>
        {title}
        {period && <span class="panel-period"> {period}</span>}
      </h3>
      {children}
    </section>
  );
}
