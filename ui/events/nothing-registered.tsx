import type { JSX } from 'preact';
import { CopyButton } from '../controls/copy-button.js';
import { EmptyState } from '../shared/views/empty-state.js';

const SNIPPET = `hub.event({
  type: 'order.created',
  handler: ({ payload, logger }) => logger.info(payload, 'order received'),
});

await hub.emit('order.created', { id: 1 });`;

/** Placeholder for a hub without event types, with example code. */
export function NothingRegistered(): JSX.Element {
  return (
    <EmptyState title="No event types yet">
      <p>This hub has no event types. Register one, and it appears here:</p>
      <div class="snippet">
        <pre class="code">{SNIPPET}</pre>
        <CopyButton label="Copy code" text={() => SNIPPET} />
      </div>
    </EmptyState>
  );
}
