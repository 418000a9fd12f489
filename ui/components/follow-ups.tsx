import type { JSX } from 'preact';
import type { EventIntrospection } from '../../server/dashboard/protocol.js';
import { eventPath } from '../state/route.js';
import { PanelSection } from './panel-section.js';

export interface FollowUpsProps {
  readonly event: EventIntrospection;
  readonly isRegistered: (type: string) => boolean;
  /** The query that links keep. */
  readonly query: string;
}

/** The event types that are emitted after this one. Nothing where there are none. */
export function FollowUps({ event, isRegistered, query }: FollowUpsProps): JSX.Element | null {
  const targets: readonly (readonly [string, string | undefined])[] = [
    ['On success', event.onSuccess],
    ['On failure', event.onFailure],
    ['On complete', event.onComplete],
  ];
  const set = targets.flatMap(([label, type]) => (type === undefined ? [] : [{ label, type }]));
  if (set.length === 0) return null;
  return (
    <PanelSection title="Then emits">
      <dl class="facts">
        {set.map(({ label, type }) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              {isRegistered(type) ? (
                <a href={eventPath(type) + query}>
                  <bdi>{type}</bdi>
                </a>
              ) : (
                <>
                  <bdi>{type}</bdi> <span class="muted">(not registered here)</span>
                </>
              )}
            </dd>
          </div>
        ))}
      </dl>
    </PanelSection>
  );
}
