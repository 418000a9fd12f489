import type { Redactor } from '../../redaction/redactor.js';
import type { TransportManager } from '../../transports/transport.js';
import { workflowType } from '../../transports/workflow-type.js';
import { type AgentRunIntrospection, introspectAgentRuns } from './agent-runs.js';
import { parseDescription } from './descriptions/hub-description.js';
import type { Cluster } from './descriptions/merge-descriptions.js';
import { introspectProcesses, type ProcessIntrospection } from './process-introspection.js';
import { introspectWaits, maxWaitingRuns, type WaitsIntrospection } from './wait-introspection.js';

/** Runs per type that are searched for those of an agent. */
const searchedRuns = 20;
/** Types that are searched for runs of an agent. */
const searchedTypes = 50;

/** Reads what is going on in all hubs of a transport, beyond the counts. */
export class LiveState {
  readonly #transport: TransportManager;
  readonly #redactor: Redactor;
  readonly #readCluster: () => Promise<Cluster>;

  /** @param readCluster reads the registrations of all hubs */
  constructor(transport: TransportManager, redactor: Redactor, readCluster: () => Promise<Cluster>) {
    this.#transport = transport;
    this.#redactor = redactor;
    this.#readCluster = readCluster;
  }

  /** Lists what runs wait for. */
  async waits(): Promise<WaitsIntrospection> {
    const cluster = await this.#readCluster();
    const counts = await this.#transport.counts(cluster.types);
    const totals = { approvals: 0, suspended: 0 };
    const types = cluster.types.filter((_type, index) => {
      const { approvals = 0, suspended = 0 } = counts[index]?.total ?? {};
      totals.approvals += approvals;
      totals.suspended += suspended;
      return approvals + suspended > 0;
    });
    const runs = types.length === 0 ? [] : await this.#transport.waiting(types, maxWaitingRuns);
    return introspectWaits(types, runs, totals, this.#redactor);
  }

  /** Lists the running hubs. */
  async processes(): Promise<readonly ProcessIntrospection[]> {
    return introspectProcesses(await this.#transport.processes(), parseDescription);
  }

  /** Returns the latest recorded runs of an agent. */
  async agentRuns(agent: string): Promise<readonly AgentRunIntrospection[]> {
    const { events, workflows, agents } = await this.#readCluster();
    const names = delegatorsOf(agent, agents);
    const sources = [
      ...events
        .filter(({ description }) => description.agent !== undefined && names.has(description.agent.name))
        .map(({ description }) => ({
          type: description.type,
          listed: [],
          isHandler: description.agent?.name === agent,
        })),
      // The function of a workflow may run any agent.
      ...workflows
        .filter(({ description: { steps } }) => steps.length === 0 || steps.some((step) => names.has(step.agent ?? '')))
        .map(({ description }) => ({
          type: workflowType(description.name),
          listed: description.steps,
          isHandler: false,
        })),
    ].slice(0, searchedTypes);
    const runTypes = sources.map(({ type }) => type);
    const { runs } = await this.#transport.overview({ types: [], runTypes, runLimit: searchedRuns });
    const found = sources.map((source, index) => ({ ...source, runs: runs[index] ?? [] }));
    return introspectAgentRuns(agent, found, this.#redactor);
  }
}

/** Returns the name of an agent, and those of all agents that delegate to it, through others too. */
function delegatorsOf(agent: string, agents: Cluster['agents']): ReadonlySet<string> {
  const names = new Set([agent]);
  // A set iterates over what is added meanwhile.
  for (const name of names) {
    for (const other of agents) if (other.delegates.includes(name)) names.add(other.name);
  }
  return names;
}
