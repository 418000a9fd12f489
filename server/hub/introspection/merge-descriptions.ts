import type { AgentIntrospection } from './agent-introspection.js';
import type { EventDescription, HubDescription, WorkflowDescription } from './hub-description.js';
import { addUsage } from './reported-agents.js';

/** Registered event type or workflow, and the hubs that handle it. */
export interface Served<T> {
  readonly description: T;
  /** Number of running hubs that handle it, per service. */
  readonly processes: ReadonlyMap<string, number>;
}

/** Registrations of all hubs of one transport. */
export interface Cluster {
  readonly events: readonly Served<EventDescription>[];
  readonly workflows: readonly Served<WorkflowDescription>[];
  readonly agents: readonly AgentIntrospection[];
}

/**
 * Merges the descriptions of hubs. If several hubs describe the same type or workflow, the first hub that handles it
 * wins.
 *
 * @param own description of the requesting hub; it comes first, even if the hub does not run
 * @param running descriptions of all running hubs; of stopped ones if a transport retained them
 */
export function mergeDescriptions(own: HubDescription, running: readonly HubDescription[]): Cluster {
  const all = [own, ...running];
  return {
    events: merge(
      all,
      running,
      ({ events }) => events,
      ({ type }) => type,
      ({ kind }) => kind !== 'declared',
    ),
    workflows: merge(
      all,
      running,
      ({ workflows }) => workflows,
      ({ name }) => name,
      () => true,
    ),
    agents: mergeAgents(running.length === 0 ? own.agents : running.flatMap(({ agents }) => agents)),
  };
}

function merge<T>(
  all: readonly HubDescription[],
  running: readonly HubDescription[],
  itemsOf: (hub: HubDescription) => readonly T[],
  nameOf: (item: T) => string,
  isServed: (item: T) => boolean,
): Served<T>[] {
  const merged = new Map<string, { description: T; processes: Map<string, number> }>();
  for (const item of all.flatMap(itemsOf)) {
    const found = merged.get(nameOf(item));
    if (found === undefined) merged.set(nameOf(item), { description: item, processes: new Map() });
    else if (!isServed(found.description) && isServed(item)) found.description = item;
  }
  for (const hub of running.filter(({ isStopped }) => isStopped !== true)) {
    for (const item of itemsOf(hub).filter(isServed)) {
      const processes = merged.get(nameOf(item))?.processes;
      processes?.set(hub.service, (processes.get(hub.service) ?? 0) + 1);
    }
  }
  return [...merged.values()];
}

/** Merges agents of the same name, which are one agent in several processes, and adds up their runs and tokens. */
function mergeAgents(all: readonly AgentIntrospection[]): AgentIntrospection[] {
  const merged = new Map<string, AgentIntrospection>();
  for (const agent of all) {
    const found = merged.get(agent.name);
    merged.set(agent.name, found === undefined ? agent : { ...found, ...addUsage(found, agent) });
  }
  return [...merged.values()];
}
