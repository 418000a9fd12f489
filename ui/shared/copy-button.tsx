import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Icon } from './icon.js';

export interface CopyButtonProps {
  readonly label: string;
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
export function CopyButton({ label, title, isInline = false, isIcon = false, text }: CopyButtonProps): JSX.Element {
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
      <Icon name={copied === true ? 'check' : 'copy'} />
      {isIcon ? <span class="visually-hidden">{shown}</span> : shown}
    </button>
  );
}

/** Copies text to the clipboard. Resolves to false if the browser does not allow it. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Denied, or absent on plain HTTP, which private networks often use.
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const focused = document.activeElement;
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'visually-hidden';
  document.body.append(area);
  area.select();
  const copied = document.execCommand('copy');
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return copied;
}

/** Button that copies a command or code that acts on the hub. */
export function CopyCode({ code, name = '' }: { code: string; name?: string }): JSX.Element {
  const kind = code.startsWith('npx ') ? 'command' : 'code';
  return <CopyButton label={`Copy ${name}${kind}`} title={code} text={() => code} />;
}

/** Command or code that replays dead letters: a button that copies it, and its text once it is opened. */
export function ReplayCode({ code }: { code: string }): JSX.Element {
  return (
    <div class="replay">
      <CopyCode name="replay " code={code} />
      <details>
        <summary>View code</summary>
        <pre class="code panel-code">{code}</pre>
      </details>
    </div>
  );
}

/** Example code in an empty view, with a button that copies it. */
export function Snippet({ code }: { code: string }): JSX.Element {
  return (
    <div class="snippet">
      <pre class="code">{code}</pre>
      <CopyButton label="Copy code" text={() => code} />
    </div>
  );
}
