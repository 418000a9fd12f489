import type { JSX } from 'preact';
import type { EventOverview } from '../../../../server/dashboard/protocol.js';
import { viewPath } from '../../../routing/route.js';
import { followUpsOf, WHEN_LABEL } from '../../../shared/follow-up-events.js';
import { EventLink } from '../../../shared/links/event-link.js';
import type { HubStore } from '../../../store/hub-store.js';
import { PanelSection } from './panel-section.js';

export interface TriggersProps {
  readonly event: EventOverview;
  readonly store: HubStore;
  /** Query that links retain. */
  readonly query: string;
}

/** Section with the workflows that an event starts and its follow-up events. Absent if there are none. */
export function Triggers({ event, store, query }: TriggersProps): JSX.Element | null {
  const started = store.workflows.value.filter(({ trigger }) => trigger === event.type);
  const followUps = followUpsOf(event);
  if (started.length + followUps.length === 0) return null;
  return (
    <PanelSection title="Triggers">
      <dl class="facts">
        {started.map(({ name }) => (
          <div key={`workflow ${name}`}>
            <dt>Starts workflow</dt>
            <dd>
              <a href={viewPath('workflows', name) + query}>
                <bdi>{name}</bdi>
              </a>
            </dd>
          </div>
        ))}
        {followUps.map(({ when, type }) => (
          <div key={when}>
            <dt>{WHEN_LABEL[when]}</dt>
            <dd>
              <EventLink type={type} query={query} />
            </dd>
          </div>
        ))}
      </dl>
    </PanelSection>
  );
}
