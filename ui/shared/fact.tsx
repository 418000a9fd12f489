import type { ComponentChildren, JSX } from 'preact';

export interface FactProps {
  readonly label: string;
  readonly children: ComponentChildren;
}

/** Fact with its label, as an entry of a `<dl>`. */
export function Fact({ label, children }: FactProps): JSX.Element {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}
