import { workflowType } from '../../../transports/workflow-type.js';
import type { AgentDescription } from '../../events/agent-support/agent-introspection.js';
import { addUsage } from '../../events/agent-support/reported-agents.js';
import { type EventDescription, type HubDescription, isRunning, type WorkflowDescription } from './hub-description.js';

/** Registered event type or workflow, and the hubs that handle it. */
export interface Served<T> {
  readonly description: T;
  /** Number of running hubs that handle it, per service. */
  readonly processes: ReadonlyMap<string, number>;
  /** Number of running hubs that handle it. */
  readonly processCount: number;
}

/** Registrations of all hubs of one transport. */
export interface Cluster {
  readonly events: readonly Served<EventDescription>[];
  readonly workflows: readonly Served<WorkflowDescription>[];
  readonly agents: readonly AgentDescription[];
  /** Types with counts: those of the events, then those of the workflows. */
  readonly types: readonly string[];
  /** Types with runs: those of the workflows. */
  readonly runTypes: readonly string[];
}

/** Merges the descriptions of hubs, and merges events and workflows again only if they have changed since the last time. */
export class DescriptionMerger {
  #last:
    | { readonly own: HubDescription; readonly running: readonly HubDescription[]; readonly cluster: Cluster }
    | undefined;

  /** Does the same as {@link mergeDescriptions}. All but the agents are the same objects until an event or a workflow changes. */
  merge(own: HubDescription, running: readonly HubDescription[]): Cluster {
    const last = this.#last;
    const isKnown =
      last !== undefined &&
      registersSame(own, last.own) &&
      running.length === last.running.length &&
      running.every((hub, index) => registersSame(hub, last.running[index]));
    const cluster = isKnown ? { ...last.cluster, agents: agentsOf(own, running) } : mergeDescriptions(own, running);
    this.#last = { own, running, cluster };
    return cluster;
  }
}

function registersSame(one: HubDescription, other: HubDescription | undefined): boolean {
  return (
    one === other ||
    (one.service === other?.service &&
      one.isStopped === other.isStopped &&
      areSame(one.events, other.events) &&
      areSame(one.workflows, other.workflows))
  );
}

function areSame(some: readonly unknown[], others: readonly unknown[]): boolean {
  return some.length === others.length && some.every((item, index) => item === others[index]);
}

function agentsOf(own: HubDescription, running: readonly HubDescription[]): AgentDescription[] {
  return mergeAgents(running.length === 0 ? own.agents : running.flatMap(({ agents }) => agents));
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
  const events = merge(
    all,
    running,
    (hub) => hub.events,
    ({ type }) => type,
    ({ kind }) => kind !== 'declared',
  );
  const workflows = merge(
    all,
    running,
    (hub) => hub.workflows,
    ({ name }) => name,
    () => true,
  );
  const runTypes = workflows.map(({ description }) => workflowType(description.name));
  const types = [...events.map(({ description }) => description.type), ...runTypes];
  return { events, workflows, agents: agentsOf(own, running), types, runTypes };
}

function merge<T>(
  all: readonly HubDescription[],
  running: readonly HubDescription[],
  itemsOf: (hub: HubDescription) => readonly T[],
  nameOf: (item: T) => string,
  isServed: (item: T) => boolean,
): Served<T>[] {
  const merged = new Map<string, { description: T; processes: Map<string, number>; processCount: number }>();
  for (const item of all.flatMap(itemsOf)) {
    const found = merged.get(nameOf(item));
    if (found === undefined) merged.set(nameOf(item), { description: item, processes: new Map(), processCount: 0 });
    else if (!isServed(found.description) && isServed(item)) found.description = item;
  }
  for (const hub of running.filter(isRunning)) {
    for (const item of itemsOf(hub).filter(isServed)) {
      const found = merged.get(nameOf(item));
      if (found === undefined) continue;
      found.processes.set(hub.service, (found.processes.get(hub.service) ?? 0) + 1);
      found.processCount += 1;
    }
  }
  return [...merged.values()];
}

/** Merges agents of the same name, which are one agent in several processes, and adds up their counts. */
function mergeAgents(all: readonly AgentDescription[]): AgentDescription[] {
  const merged = new Map<string, AgentDescription>();
  for (const agent of all) {
    const found = merged.get(agent.name);
    merged.set(agent.name, found === undefined ? agent : { ...found, ...addUsage(found, agent) });
  }
  return [...merged.values()];
}
