import type { AgentIntrospection } from '../../hub/introspection/introspection.js';
import type { Agent } from '../agent/agent.js';
import type { AgentSpec } from '../run/agent-spec.js';

const specs = new WeakMap<Agent, AgentSpec>();

/** Registers the spec of an agent for {@link introspectAgents}. Returns the agent. */
export function introspectable(agent: Agent, spec: AgentSpec): Agent {
  specs.set(agent, spec);
  return agent;
}

/** Describes agents and all agents they can delegate to, each after its delegator, without keys and prompts. */
export function introspectAgents(agents: readonly Agent[]): AgentIntrospection[] {
  const found = new Map<Agent, AgentIntrospection>();
  const visit = (next: Agent): void => {
    const spec = specs.get(next);
    if (spec === undefined || found.has(next)) return;
    found.set(next, introspectAgent(spec));
    for (const other of spec.registry?.list() ?? []) visit(other);
  };
  for (const agent of agents) visit(agent);
  return [...found.values()];
}

function introspectAgent({ name, description, model, tools, registry, totals }: AgentSpec): AgentIntrospection {
  const { promptTokens, completionTokens, totalTokens } = totals.tokenUsage;
  return {
    name,
    ...(description !== undefined && { description }),
    model: model.model,
    tools: tools()
      .getDefinitions()
      .map((tool) => tool.name),
    delegates: (registry?.list() ?? []).map((other) => other.name).filter((other) => other !== name),
    runs: { ...totals.runs },
    tokenUsage: { promptTokens, completionTokens, totalTokens },
  };
}
