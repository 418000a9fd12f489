import type { JSX } from 'preact';
import { CopyButton } from '../controls/copy-button.js';

/** Command or code that acts on the hub, with a button that copies it. */
export function CodeToCopy({ code }: { code: string }): JSX.Element {
  return (
    <div class="replay">
      <pre class="code panel-code">{code}</pre>
      <CopyButton label={code.startsWith('npx ') ? 'Copy command' : 'Copy code'} text={() => code} />
    </div>
  );
}
