import type { JSX } from 'preact';
import { CopyButton } from './copy-button.js';

/** Code to copy. */
export function Snippet({ code }: { code: string }): JSX.Element {
  return (
    <div class="snippet">
      <pre class="code">{code}</pre>
      <CopyButton label="Copy code" text={() => code} />
    </div>
  );
}
