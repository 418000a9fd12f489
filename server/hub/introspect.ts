import type { RunRecord, TransportManager, TypeCounts } from '../transports/transport.js';
import { version } from '../version.js';
import { mergeDescriptions, type Served } from './cluster.js';
import {
  type EventDescription,
  type HubDescription,
  parseDescription,
  type WorkflowDescription,
} from './hub-description.js';
import type { EventIntrospection, HubIntrospection, WorkflowIntrospection } from './introspection.js';
import { introspectRun } from './run-introspection.js';
import { workflowType } from './workflow.js';

const runsShown = 10;

/** Reads everything that is registered on the transport's hubs, with its counts. */
export async function introspect(
  own: HubDescription,
  transport: TransportManager,
  startedAt: number | null,
): Promise<HubIntrospection> {
  const running = (await transport.registered()).map(parseDescription);
  const { events, workflows, agents } = mergeDescriptions(own, running);
  const runTypes = workflows.map(({ description }) => workflowType(description.name));
  const [counts, runs] = await Promise.all([
    transport.counts([...events.map(({ description }) => description.type), ...runTypes]),
    transport.runs(runTypes, runsShown),
  ]);
  return {
    hub: { service: transport.service, transport: transport.name, version, startedAt, now: transport.clock.now() },
    events: events.flatMap((event, index) => {
      const typeCounts = counts[index];
      return typeCounts === undefined ? [] : [introspectEvent(event, typeCounts)];
    }),
    workflows: workflows.flatMap((workflow, index) => {
      const typeCounts = counts[events.length + index];
      return typeCounts === undefined ? [] : [introspectWorkflow(workflow, typeCounts, runs[index] ?? [])];
    }),
    agents,
  };
}

function introspectEvent(
  { description, processes }: Served<EventDescription>,
  { total, services }: TypeCounts,
): EventIntrospection {
  return {
    ...description,
    processes,
    metrics: total,
    ...(services.length > 1 && {
      services: services.map(({ service, counts }) => ({ service, metrics: counts })),
    }),
  };
}

function introspectWorkflow(
  { description, processes }: Served<WorkflowDescription>,
  { total }: TypeCounts,
  runs: readonly RunRecord[],
): WorkflowIntrospection {
  return {
    ...description,
    processes,
    metrics: total,
    runs: runs.map((run) => introspectRun(description.steps, run)),
  };
}

/** Whether a hub that runs on the transport has registered the event type. */
export async function isRegistered(type: string, transport: TransportManager): Promise<boolean> {
  return (await transport.registered()).some((json) =>
    parseDescription(json).events.some((event) => event.type === type),
  );
}

/** Whether a hub that runs on the transport has registered the workflow. */
export async function isRegisteredWorkflow(name: string, transport: TransportManager): Promise<boolean> {
  return (await transport.registered()).some((json) =>
    parseDescription(json).workflows.some((workflow) => workflow.name === name),
  );
}
