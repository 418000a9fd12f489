import type { JSX } from 'preact';
import { agentUses } from '../state/agent-uses.js';
import type { HubStore } from '../state/hub-store.js';
import type { Navigation } from '../state/navigation.js';
import { AgentCard } from './agent-card.js';
import { EmptyState } from './empty-state.js';
import { TableSkeleton } from './table-skeleton.js';

export interface AgentsProps {
  readonly store: HubStore;
  readonly navigation: Navigation;
}

/** All agents that the hub runs. */
export function Agents({ store, navigation }: AgentsProps): JSX.Element {
  return (
    <section class="view" aria-labelledby="agents-title">
      <h2 id="agents-title" class="section-title" tabIndex={-1}>
        Agents
      </h2>
      <AgentsBody store={store} navigation={navigation} />
    </section>
  );
}

function AgentsBody({ store, navigation }: AgentsProps): JSX.Element {
  const agents = store.agents.value;
  if (store.hub.value === null) return <TableSkeleton />;
  if (agents.length === 0) {
    return (
      <EmptyState title="No agents yet">
        <p>
          Let one handle an event type, with <code>agent.asHandler()</code>, and it appears here.
        </p>
      </EmptyState>
    );
  }
  const names = new Set(agents.map(({ name }) => name));
  const runners = {
    events: [...store.rows.value.values()].map(({ event }) => event.value),
    workflows: store.workflows.value,
  };
  return (
    <div class="agents">
      {agents.map((agent) => (
        <AgentCard
          key={agent.name}
          agent={agent}
          uses={agentUses(agent.name, runners)}
          isOpen={navigation.route.value.name === agent.name}
          isKnown={(name) => names.has(name)}
          query={navigation.query.value}
        />
      ))}
    </div>
  );
}
