import type { JSX } from 'preact';
import type { Navigation } from '../routing/navigation.js';
import { ViewSection } from '../shared/view-section.js';
import type { HubStore } from '../store/hub-store.js';
import { AgentCard } from './agent-card.js';
import { agentUses } from './agent-uses.js';

export interface AgentsProps {
  readonly store: HubStore;
  readonly navigation: Navigation;
}

/** View of the hub's agents. */
export function Agents({ store, navigation }: AgentsProps): JSX.Element {
  const agents = store.agents.value;
  const runners = {
    events: [...store.rows.value.values()].map(({ event }) => event.value),
    workflows: store.workflows.value,
  };
  return (
    <ViewSection
      view="agents"
      store={store}
      isEmpty={agents.length === 0}
      hint={
        <>
          Register an event type with <code>agent.asHandler()</code> as its handler, and the agent appears here.
        </>
      }
    >
      <div class="agents">
        {agents.map((agent) => (
          <AgentCard
            key={agent.name}
            agent={agent}
            uses={agentUses(agent.name, runners)}
            isOpen={navigation.route.value.name === agent.name}
            query={navigation.query.value}
          />
        ))}
      </div>
    </ViewSection>
  );
}
