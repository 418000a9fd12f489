import type { AgentDescription } from '../../hub/events/agent-support/agent-introspection.js';
import type { AgentSource } from '../../hub/events/agent-support/reported-agents.js';
import type { Agent } from '../agent/agent.js';
import { shownUsage } from '../model/token-usage.js';
import type { AgentSpec } from '../run/agent-spec.js';

const specs = new WeakMap<Agent, AgentSpec>();

/** Registers the spec of an agent for {@link introspectAgents}. Returns the agent. */
export function introspectable<TAgent extends Agent>(agent: TAgent, spec: AgentSpec): TAgent {
  specs.set(agent, spec);
  return agent;
}

/** Returns the spec of an agent from `createAgent`. */
export function specOf(agent: Agent): AgentSpec | undefined {
  return specs.get(agent);
}

const sources = new WeakMap<AgentSpec, AgentSource>();

/** Returns the function that describes an agent and its delegates, the same one at each call. */
export function sourceOf(agent: AgentSpec): AgentSource {
  let source = sources.get(agent);
  if (source === undefined) {
    source = () => introspectSpecs([agent]);
    sources.set(agent, source);
  }
  return source;
}

/** Describes agents and all agents they can delegate to, each after its delegator, without keys and prompts. */
export function introspectAgents(agents: readonly Agent[]): AgentDescription[] {
  return introspectSpecs(agents.map(specOf));
}

function introspectSpecs(agents: readonly (AgentSpec | undefined)[]): AgentDescription[] {
  return reachable(agents).map(introspectAgent);
}

/** Returns the specs of agents and of all agents they can delegate to. */
export function reachableSpecs(agents: readonly Agent[]): AgentSpec[] {
  return reachable(agents.map(specOf));
}

function reachable(agents: readonly (AgentSpec | undefined)[]): AgentSpec[] {
  const found = new Set<AgentSpec>();
  const visit = (spec: AgentSpec | undefined): void => {
    if (spec === undefined || found.has(spec)) return;
    found.add(spec);
    for (const other of spec.registry?.list() ?? []) visit(specOf(other));
  };
  for (const agent of agents) visit(agent);
  return [...found];
}

function introspectAgent({ name, description, model, tools, registry, totals }: AgentSpec): AgentDescription {
  return {
    name,
    ...(description !== undefined && { description }),
    model: model.model,
    tools: tools()
      .getDefinitions()
      .map((tool) => tool.name),
    delegates: (registry?.list() ?? []).map((other) => other.name).filter((other) => other !== name),
    runs: { ...totals.runs },
    tokenUsage: shownUsage(totals.tokenUsage),
    ...(!totals.durations.isEmpty && { durations: totals.durations.toJSON() }),
  };
}
