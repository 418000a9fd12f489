import type { EventIntrospection, WorkflowIntrospection } from './introspection.js';

/** Runs of an agent that have not ended. */
export interface PendingAgentRuns {
  readonly active: number;
  readonly suspended: number;
}

/**
 * Returns the runs that have not ended per agent: of the events that it handles, and of workflows whose steps are this
 * agent alone. The counts of other workflows do not tell which of their steps runs.
 */
export function pendingAgentRuns(
  events: readonly Pick<EventIntrospection, 'metrics' | 'agent'>[],
  workflows: readonly Pick<WorkflowIntrospection, 'metrics' | 'steps'>[],
): ReadonlyMap<string, PendingAgentRuns> {
  const runs = new Map<string, PendingAgentRuns>();
  const add = (agent: string, { active, suspended }: PendingAgentRuns): void => {
    const known = runs.get(agent) ?? { active: 0, suspended: 0 };
    runs.set(agent, { active: known.active + active, suspended: known.suspended + suspended });
  };
  for (const { agent, metrics } of events) if (agent !== undefined) add(agent.name, metrics);
  for (const { steps, metrics } of workflows) {
    const agents = new Set(steps.map(({ kind, agent }) => (kind === 'agent' ? agent : undefined)));
    const [only] = agents;
    if (agents.size === 1 && only !== undefined) add(only, metrics);
  }
  return runs;
}
