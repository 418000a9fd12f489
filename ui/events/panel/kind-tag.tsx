import type { JSX } from 'preact';
import type { EventOverview } from '../../../server/dashboard/protocol.js';
import { viewPath } from '../../routing/route.js';

/** Tag with the kind of an event type that is not a plain handler. It links to an agent. */
export function KindTag({ event, query }: { event: EventOverview; query: string }): JSX.Element | null {
  const { kind, agent } = event;
  if (kind === 'handler') return null;
  if (agent === undefined) return <span class="tag">{kind}</span>;
  return (
    <a class="tag" href={viewPath('agents', agent.name) + query}>
      {kind} {agent.name}
    </a>
  );
}
