import type { JSX } from 'preact';
import { emitCode } from '../shared/hub-code.js';
import { EmptyState } from '../shared/views/empty-state.js';
import { Snippet } from '../shared/views/snippet.js';
import type { HubStore } from '../store/hub-store.js';

/** Placeholder for the chart of a hub that has received no event, with code that emits one. */
export function NoEvents({ store }: { store: HubStore }): JSX.Element {
  const rows = [...store.rows.value.values()];
  const row = rows.find((one) => one.view.value.kind === 'handler') ?? rows[0];
  return (
    <div class="no-events">
      <EmptyState title="No events yet">
        <p>Emit an event, and the chart appears here:</p>
        <Snippet code={emitCode(row?.type ?? '')} />
      </EmptyState>
    </div>
  );
}
