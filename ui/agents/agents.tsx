import type { JSX } from 'preact';
import type { Monitor } from '../polling/monitor.js';
import type { Navigation } from '../routing/navigation.js';
import { ViewSection } from '../shared/views/view-section.js';
import { AgentRuns } from './agent-runs.js';
import { AgentTable } from './agent-table.js';
import { agentUses } from './agent-uses.js';

export interface AgentsProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

/** View of the hub's agents. */
export function Agents({ monitor, navigation }: AgentsProps): JSX.Element {
  const { store } = monitor;
  const open = navigation.route.value.name;
  const query = navigation.query.value;
  const agents = store.agents.value;
  const runners = {
    events: [...store.rows.value.values()].map(({ event }) => event.value),
    workflows: store.workflows.value,
  };
  return (
    <ViewSection
      view="agents"
      store={store}
      aside={<span class="panel-period">since start · costs in the currency of your prices</span>}
      isEmpty={agents.length === 0}
      hint={
        <>
          Register an event type with <code>agent.asHandler()</code> as its handler, and the agent appears here.
        </>
      }
    >
      <AgentTable agents={agents} usesOf={(name) => agentUses(name, runners)} open={open} query={query} />
      {agents.some(({ name }) => name === open) && (
        <AgentRuns key={open} agent={open ?? ''} monitor={monitor} query={query} />
      )}
    </ViewSection>
  );
}
