import type { JSX } from 'preact';
import { formatCount } from '../../format/count.js';
import type { Navigation } from '../../routing/navigation.js';
import { VIEW_LABEL, VIEWS, viewPath } from '../../routing/route.js';
import type { HubStore } from '../../store/hub-store.js';

export interface ViewLinksProps {
  readonly store: HubStore;
  readonly navigation: Navigation;
}

/** Navigation between the views, with the number of items in each. */
export function ViewLinks({ store, navigation }: ViewLinksProps): JSX.Element {
  const { view } = navigation.route.value;
  const counts: Record<(typeof VIEWS)[number], number | undefined> = {
    events: store.rows.value.size,
    workflows: store.workflows.value.length,
    agents: store.agents.value.length,
    waits: approvalsOf(store) || undefined,
    schedules: store.schedules.value.length,
    processes: store.hub.value?.processes,
  };
  return (
    <nav class="views" aria-label="Views">
      {VIEWS.map((item) => (
        <a key={item} href={viewPath(item) + navigation.query.value} aria-current={item === view ? 'page' : undefined}>
          {VIEW_LABEL[item]}{' '}
          {store.hub.value && counts[item] !== undefined && (
            <span class="chip-count">
              {formatCount(counts[item])}
              {item === 'waits' && <span class="visually-hidden"> approvals</span>}
            </span>
          )}
        </a>
      ))}
    </nav>
  );
}

/** Returns the number of approvals that runs wait for. */
function approvalsOf({ health }: HubStore): number {
  const waiting = health.value?.problems.filter(({ kind }) => kind === 'approval-waiting') ?? [];
  return waiting.reduce((sum, { count = 0 }) => sum + count, 0);
}
