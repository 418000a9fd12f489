import type { ComponentChildren, JSX } from 'preact';
import { VIEW_LABEL, type View } from '../../routing/route.js';
import type { HubStore } from '../../store/hub-store.js';
import { EmptyState } from './empty-state.js';
import { TableSkeleton } from './table-skeleton.js';

export interface ViewSectionProps {
  readonly view: View;
  readonly store: HubStore;
  /** Content beside the title. */
  readonly aside?: ComponentChildren;
  /** True if the hub has nothing to show in this view. */
  readonly isEmpty: boolean;
  /** Next step for an empty view. */
  readonly hint: ComponentChildren;
  readonly children: ComponentChildren;
}

/** View with its title. Shows a placeholder before the first response and for an empty view. */
export function ViewSection({ view, store, aside, isEmpty, hint, children }: ViewSectionProps): JSX.Element {
  return (
    <section class="view" aria-labelledby={`${view}-title`}>
      <div class="view-head">
        <h2 id={`${view}-title`} class="section-title" tabIndex={-1}>
          {VIEW_LABEL[view]}
        </h2>
        {aside}
      </div>
      {store.hub.value === null ? (
        <TableSkeleton />
      ) : isEmpty ? (
        <EmptyState title={`No ${view} yet`}>
          <p>{hint}</p>
        </EmptyState>
      ) : (
        children
      )}
    </section>
  );
}
