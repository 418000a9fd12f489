import type { ComponentChildren, JSX } from 'preact';
import { Icon, type IconName } from '../controls/icon.js';

export interface StatProps {
  readonly label: string;
  readonly icon?: IconName;
  readonly tone?: 'received' | 'completed' | 'failed' | 'stale';
  readonly title?: string;
  readonly children: ComponentChildren;
}

/** Number with its label, as an entry of a `<dl>`. */
export function Stat({ label, icon, tone, title, children }: StatProps): JSX.Element {
  return (
    <div class="stat" title={title}>
      <dt class={tone && `tone-${tone}`}>
        {icon && <Icon name={icon} />}
        {label}
      </dt>
      <dd>{children}</dd>
    </div>
  );
}
