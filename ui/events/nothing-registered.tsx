import type { JSX } from 'preact';
import { CopyButton } from '../shared/copy-button.js';
import { EmptyState } from '../shared/empty-state.js';

const SNIPPET = `hub.event({
  type: 'order.created',
  handler: ({ payload }) => console.log(payload),
});

await hub.emit('order.created', { id: 1 });`;

export function NothingRegistered(): JSX.Element {
  return (
    <EmptyState title="No event types yet">
      <p>Register one and it appears here:</p>
      <div class="snippet">
        <pre class="code">{SNIPPET}</pre>
        <CopyButton label="Copy code" text={() => SNIPPET} />
      </div>
    </EmptyState>
  );
}
