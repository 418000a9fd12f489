import type { JSX } from 'preact';
import type { Navigation } from '../routing/navigation.js';
import { ViewSection } from '../shared/view-section.js';
import type { HubStore } from '../store/hub-store.js';
import { AgentTable } from './agent-table.js';
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
      aside={<span class="panel-period">since start</span>}
      isEmpty={agents.length === 0}
      hint={
        <>
          Register an event type with <code>agent.asHandler()</code> as its handler, and the agent appears here.
        </>
      }
    >
      <AgentTable
        agents={agents}
        usesOf={(name) => agentUses(name, runners)}
        open={navigation.route.value.name}
        query={navigation.query.value}
      />
    </ViewSection>
  );
}
