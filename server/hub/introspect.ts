import type { RunRecord, TransportManager, TypeCounts } from '../transports/transport.js';
import { version } from '../version.js';
import type { HandlerFunction } from './context.js';
import type { RegisteredEvent } from './event.js';
import { handlerInfo } from './handler-info.js';
import type {
  AgentIntrospection,
  EventIntrospection,
  HubIntrospection,
  WorkflowIntrospection,
} from './introspection.js';
import { introspectRun } from './run-introspection.js';
import { type HubWorkflow, type ResolvedStep, workflowType } from './workflow.js';

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
    agents: introspectAgents([
      ...events.flatMap(({ handler }) => handler ?? []),
      ...workflows.flatMap(({ steps }) => steps.map(({ handler }) => handler)),
    ]),
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
    steps: steps.map(introspectStep),
    ...followUps,
    metrics: total,
    runs: runs.map((run) => introspectRun(workflow, run)),
  };
}

function introspectStep({ name, handler }: ResolvedStep): WorkflowIntrospection['steps'][number] {
  const agent = handlerInfo(handler)?.agents()[0];
  return agent === undefined ? { name, kind: 'step' } : { name, kind: 'agent', agent: agent.name };
}

function introspectHandler(handler: HandlerFunction | undefined): Pick<EventIntrospection, 'kind' | 'agent'> {
  if (handler === undefined) return { kind: 'declared' };
  const info = handlerInfo(handler);
  if (info === undefined) return { kind: 'handler' };
  const [first] = info.agents();
  if (info.kind !== 'agent' || first === undefined) return { kind: info.kind };
  const { name, model, tools, delegates } = first;
  return { kind: info.kind, agent: { name, model, tools, delegates } };
}

/** The agents behind the handlers, each name once. */
function introspectAgents(handlers: readonly object[]): AgentIntrospection[] {
  const byName = new Map<string, AgentIntrospection>();
  for (const handler of handlers) {
    for (const agent of handlerInfo(handler)?.agents() ?? []) {
      if (!byName.has(agent.name)) byName.set(agent.name, agent);
    }
  }
  return [...byName.values()];
}

function introspectEvent(event: RegisteredEvent, { total, services }: TypeCounts): EventIntrospection {
  const { type, description, handler, retry, timeoutMs, concurrency, rate, followUps, schema } = event;
  return {
    type,
    ...introspectHandler(handler),
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
