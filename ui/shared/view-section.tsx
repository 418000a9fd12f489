import type { ComponentChildren, JSX } from 'preact';
import { VIEW_LABEL } from '../app/view-links.js';
import type { View } from '../routing/route.js';
import type { HubStore } from '../store/hub-store.js';
import { EmptyState } from './empty-state.js';
import { TableSkeleton } from './table-skeleton.js';

export interface ViewSectionProps {
  readonly view: View;
  readonly store: HubStore;
  /** Beside the title. */
  readonly aside?: ComponentChildren;
  /** Whether the hub has nothing of this kind, and how to begin. */
  readonly isEmpty: boolean;
  readonly hint: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A view with its title, or what stands in its place: before the first answer, and where there is nothing to show. */
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
