import type { JSX } from 'preact';
import { Icon, type IconName } from './icon.js';

export interface IconButtonProps {
  readonly icon: IconName;
  readonly label: string;
  readonly title?: string;
  readonly onClick: () => void;
}

/** Button that shows an icon instead of its label. */
export function IconButton({ icon, label, title = label, onClick }: IconButtonProps): JSX.Element {
  return (
    <button type="button" class="icon-button" aria-label={label} title={title} onClick={onClick}>
      <Icon name={icon} />
    </button>
  );
}
