import type { RunRecord, TransportManager, TypeCounts } from '../transports/transport.js';
import { version } from '../version.js';
import type { RegisteredEvent } from './event.js';
import type { EventIntrospection, HubIntrospection, WorkflowIntrospection } from './introspection.js';
import { introspectRun } from './run-introspection.js';
import { type HubWorkflow, workflowType } from './workflow.js';

const runsShown = 10;

/** Reads everything registered, with its counts, in one round trip to the transport. */
export async function introspect(
  events: readonly RegisteredEvent[],
  workflows: readonly HubWorkflow[],
  transport: TransportManager,
  startedAt: number | null,
): Promise<HubIntrospection> {
  const runTypes = workflows.map(({ name }) => workflowType(name));
  const [counts, runs] = await Promise.all([
    transport.counts([...events.map(({ type }) => type), ...runTypes]),
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
    agents: [],
  };
}

function introspectWorkflow(
  workflow: HubWorkflow,
  { total }: TypeCounts,
  runs: readonly RunRecord[],
): WorkflowIntrospection {
  const { name, description, trigger, steps, followUps } = workflow;
  return {
    name,
    ...(description !== undefined && { description }),
    ...(trigger !== undefined && { trigger }),
    steps: steps.map((step) => ({ name: step.name, kind: 'step' })),
    ...followUps,
    metrics: total,
    runs: runs.map((run) => introspectRun(workflow, run)),
  };
}

function introspectEvent(event: RegisteredEvent, { total, services }: TypeCounts): EventIntrospection {
  const { type, description, handler, retry, timeoutMs, concurrency, rate, followUps, schema } = event;
  return {
    type,
    kind: handler === undefined ? 'declared' : 'handler',
    ...(description !== undefined && { description }),
    ...(retry !== undefined && {
      retry: {
        maxAttempts: retry.maxAttempts,
        initialDelayMs: retry.initialDelayMs,
        maxDelayMs: retry.maxDelayMs,
        factor: retry.factor,
        jitter: retry.jitter,
      },
    }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(concurrency !== undefined && { concurrency }),
    ...(rate !== undefined && { rate }),
    ...followUps,
    ...(schema?.jsonSchema !== undefined && { schema: schema.jsonSchema }),
    metrics: total,
    ...(services.length > 1 && {
      services: services.map(({ service, counts }) => ({ service, metrics: counts })),
    }),
  };
}
