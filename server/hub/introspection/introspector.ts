import type { RunRecord, TransportManager, TypeCounts } from '../../transports/transport.js';
import { workflowType } from '../../transports/workflow-type.js';
import { version } from '../../version.js';
import {
  type EventDescription,
  type HubDescription,
  parseDescription,
  type WorkflowDescription,
} from './hub-description.js';
import type { EventIntrospection, HubIntrospection, WorkflowIntrospection } from './introspection.js';
import { type Cluster, mergeDescriptions, type Served } from './merge-descriptions.js';
import { introspectRun } from './run-introspection.js';

const runsShown = 10;

/** Reads what is registered on the hubs of a transport. */
export class Introspector {
  readonly #transport: TransportManager;
  /** What ran when it was last read: what to ask for in one round trip. */
  #running: readonly HubDescription[] = [];
  /** What each text says: processes of one service tell the same, and tell it again. */
  #parsed: ReadonlyMap<string, HubDescription> = new Map();

  constructor(transport: TransportManager) {
    this.#transport = transport;
  }

  /** Everything that is registered, with its counts. */
  async read(own: HubDescription, startedAt: number | null): Promise<HubIntrospection> {
    const { cluster, counts, runs } = await this.#overview(own);
    const { service, name, clock } = this.#transport;
    return {
      hub: { service, transport: name, version, startedAt, now: clock.now() },
      events: cluster.events.flatMap((event) => {
        const typeCounts = counts.get(event.description.type);
        return typeCounts === undefined ? [] : [introspectEvent(event, typeCounts)];
      }),
      workflows: cluster.workflows.flatMap((workflow) => {
        const type = workflowType(workflow.description.name);
        const typeCounts = counts.get(type);
        return typeCounts === undefined ? [] : [introspectWorkflow(workflow, typeCounts, runs.get(type) ?? [])];
      }),
      agents: cluster.agents,
    };
  }

  /** Whether a hub that runs has registered the event type. */
  async hasEvent(type: string): Promise<boolean> {
    return (await this.#registered()).some(({ events }) => events.some((event) => event.type === type));
  }

  /** Whether a hub that runs has registered the workflow. */
  async hasWorkflow(name: string): Promise<boolean> {
    return (await this.#registered()).some(({ workflows }) => workflows.some((workflow) => workflow.name === name));
  }

  /** One round trip, and another where something is registered that was not when it was last read. */
  async #overview(own: HubDescription): Promise<ClusterOverview> {
    for (;;) {
      const asked = this.#running;
      const cluster = mergeDescriptions(own, asked);
      const { types, runTypes } = typesOf(cluster);
      const { registered, counts, runs } = await this.#transport.overview({ types, runTypes, runLimit: runsShown });
      const running = this.#parse(registered);
      const isSame = running.length === asked.length && running.every((hub, index) => hub === asked[index]);
      const found = isSame ? cluster : mergeDescriptions(own, running);
      const byType = new Map(counts.map((typeCounts, index) => [types[index] ?? '', typeCounts]));
      if (typesOf(found).types.some((type) => !byType.has(type))) continue;
      const runsByType = new Map(runs.map((latest, index) => [runTypes[index] ?? '', latest]));
      return { cluster: found, counts: byType, runs: runsByType };
    }
  }

  async #registered(): Promise<readonly HubDescription[]> {
    return this.#parse(await this.#transport.registered());
  }

  #parse(registered: readonly string[]): readonly HubDescription[] {
    const parsed = new Map(registered.map((text) => [text, this.#parsed.get(text) ?? parseDescription(text)]));
    this.#parsed = parsed;
    this.#running = registered.flatMap((text) => parsed.get(text) ?? []);
    return this.#running;
  }
}

interface ClusterOverview {
  readonly cluster: Cluster;
  readonly counts: ReadonlyMap<string, TypeCounts>;
  readonly runs: ReadonlyMap<string, readonly RunRecord[]>;
}

/** Under which types a cluster is counted, and which of them have runs. */
function typesOf({ events, workflows }: Cluster): { readonly types: string[]; readonly runTypes: string[] } {
  const runTypes = workflows.map(({ description }) => workflowType(description.name));
  return { types: [...events.map(({ description }) => description.type), ...runTypes], runTypes };
}

function introspectEvent(
  { description, processes }: Served<EventDescription>,
  { total, services }: TypeCounts,
): EventIntrospection {
  const shares = services.map(({ service, counts }) => ({
    service,
    processes: processes.get(service) ?? 0,
    metrics: counts,
  }));
  // A service that may never come back has to be known by its name.
  const isLeft = shares.some((share) => share.processes === 0 && share.metrics.pending > 0);
  return {
    ...description,
    processes: sum(processes.values()),
    metrics: total,
    ...((shares.length > 1 || isLeft) && { services: shares }),
  };
}

function introspectWorkflow(
  { description, processes }: Served<WorkflowDescription>,
  { total }: TypeCounts,
  runs: readonly RunRecord[],
): WorkflowIntrospection {
  return {
    ...description,
    processes: sum(processes.values()),
    metrics: total,
    runs: runs.map((run) => introspectRun(description.steps, run)),
  };
}

function sum(numbers: Iterable<number>): number {
  return [...numbers].reduce((total, number) => total + number, 0);
}
