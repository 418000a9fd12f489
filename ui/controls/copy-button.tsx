import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { copyText } from './copy-text.js';
import { Icon, type IconName } from './icon.js';

export interface CopyButtonProps {
  readonly label: string;
  readonly icon?: IconName;
  readonly title?: string;
  /** True to show the button as inline text. */
  readonly isInline?: boolean;
  /** True to show only the icon, as inline text. */
  readonly isIcon?: boolean;
  /** Returns the text to copy. Called on each click. */
  readonly text: () => string;
}

const SHOWN_MS = 2_000;

/** Button that copies a text and shows the outcome for two seconds. */
export function CopyButton({
  label,
  icon = 'copy',
  title,
  isInline = false,
  isIcon = false,
  text,
}: CopyButtonProps): JSX.Element {
  const [copied, setCopied] = useState<boolean | null>(null);
  useEffect(() => {
    if (copied === null) return;
    const timer = setTimeout(() => setCopied(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  const shown = copied === null ? label : copied ? 'Copied' : 'Not allowed';
  return (
    <button
      type="button"
      class={isInline || isIcon ? 'copy-text' : 'button copy-button'}
      title={title ?? (isIcon ? label : undefined)}
      onClick={() => {
        void copyText(text()).then(setCopied);
      }}
    >
      <Icon name={copied === true ? 'check' : icon} />
      {isIcon ? <span class="visually-hidden">{shown}</span> : shown}
    </button>
  );
}
