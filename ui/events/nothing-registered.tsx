import type { JSX } from 'preact';
import { EmptyState } from '../shared/views/empty-state.js';
import { Snippet } from '../shared/views/snippet.js';

const SNIPPET = `hub.event({
  type: 'order.created',
  handler: ({ payload, logger }) => logger.info(payload, 'order received'),
});

await hub.emit('order.created', { id: 1 });`;

/** Placeholder for a hub without event types, with example code. */
export function NothingRegistered(): JSX.Element {
  return (
    <EmptyState title="No event types yet">
      <p>Register an event type and emit an event, and both appear here:</p>
      <Snippet code={SNIPPET} />
      <p>Hubs on another Redis, prefix or file do not appear here.</p>
    </EmptyState>
  );
}
