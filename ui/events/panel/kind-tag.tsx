import type { JSX } from 'preact';
import type { EventIntrospection } from '../../../server/dashboard/protocol.js';
import { viewPath } from '../../routing/route.js';

/** What handles an event where it is no plain handler; of an agent, a link to it. */
export function KindTag({ event, query }: { event: EventIntrospection; query: string }): JSX.Element | null {
  const { kind, agent } = event;
  if (kind === 'handler') return null;
  if (agent === undefined) return <span class="tag">{kind}</span>;
  return (
    <a class="tag" href={viewPath('agents', agent.name) + query}>
      {kind} {agent.name}
    </a>
  );
}
