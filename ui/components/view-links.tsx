import type { JSX } from 'preact';
import { formatCount } from '../format/count.js';
import type { HubStore } from '../state/hub-store.js';
import type { Navigation } from '../state/navigation.js';
import { VIEWS, type View, viewPath } from '../state/route.js';

/** What views are called. */
export const VIEW_LABEL: Record<View, string> = { events: 'Events', workflows: 'Workflows', agents: 'Agents' };

export interface ViewLinksProps {
  readonly store: HubStore;
  readonly navigation: Navigation;
}

/** The way between views, each with how much there is in it. A hub with events alone has nothing to choose. */
export function ViewLinks({ store, navigation }: ViewLinksProps): JSX.Element | null {
  const { view } = navigation.route.value;
  const counts: Record<View, number> = {
    events: store.rows.value.size,
    workflows: store.workflows.value.length,
    agents: store.agents.value.length,
  };
  const shown = VIEWS.filter((item) => item === 'events' || item === view || counts[item] > 0);
  if (shown.length === 1) return null;
  return (
    <nav class="views" aria-label="Views">
      {shown.map((item) => (
        <a key={item} href={viewPath(item) + navigation.query.value} aria-current={item === view ? 'page' : undefined}>
          {VIEW_LABEL[item]} <span class="chip-count">{formatCount(counts[item])}</span>
        </a>
      ))}
    </nav>
  );
}
