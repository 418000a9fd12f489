import type { JSX } from 'preact';
import { CopyButton } from '../../controls/copy-button.js';

/** Example code in an empty view, with a button that copies it and the place of the documentation. */
export function Snippet({ code }: { code: string }): JSX.Element {
  return (
    <>
      <div class="snippet">
        <pre class="code">{code}</pre>
        <CopyButton label="Copy code" text={() => code} />
      </div>
      <p>
        The documentation has a page per task: <code>node_modules/hubline/docs</code>
      </p>
    </>
  );
}
