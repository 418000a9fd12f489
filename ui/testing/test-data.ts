import type {
  AgentIntrospection,
  Counts,
  EventBody,
  EventIntrospection,
  RunIntrospection,
  StepStatus,
  WorkflowIntrospection,
} from '../../server/dashboard/protocol.js';
import type { Introspection } from '../api/parse-body.js';
import type { Moment } from '../store/moment.js';

/** Time of the server's clock at the start of a test. */
export const SERVER_NOW = Date.UTC(2026, 0, 5, 12, 0, 0);

/** Returns the moment `at` milliseconds after the start of a test. */
export function momentAt(at: number): Moment {
  return { at, serverNow: SERVER_NOW + at };
}

/** Returns counts with `received = completed + failed + pending`. */
export function countsOf(completed = 0, failed = 0, rest: Partial<Counts> = {}): Counts {
  const pending = rest.pending ?? 0;
  return {
    received: completed + failed + pending,
    completed,
    failed,
    cancelled: 0,
    pending,
    active: 0,
    delayed: 0,
    suspended: 0,
    retried: 0,
    ...rest,
  };
}

/** Returns a registered event type. */
export function eventOf(
  type: string,
  metrics: Counts = countsOf(),
  rest: Partial<EventIntrospection> = {},
): EventIntrospection {
  return { type, kind: 'handler', metrics, ...rest };
}

/** Returns a parsed response of the introspection route. */
export function introspectionOf(
  events: readonly EventIntrospection[],
  hub: Partial<Introspection['hub']> = {},
  rest: Partial<Pick<Introspection, 'workflows' | 'agents'>> = {},
): Introspection {
  return {
    hub: {
      service: 'shop',
      transport: 'memory',
      version: '1.0.0',
      startedAt: SERVER_NOW - 3_600_000,
      ...hub,
    },
    events,
    workflows: [],
    agents: [],
    ...rest,
  };
}

/** Returns a registered workflow with these steps. */
export function workflowOf(
  name: string,
  steps: readonly string[],
  rest: Partial<WorkflowIntrospection> = {},
): WorkflowIntrospection {
  return { name, steps: steps.map((step) => ({ name: step, kind: 'step' })), metrics: countsOf(), runs: [], ...rest };
}

/** Returns a run with the given status of each step. */
export function runOf(
  id: string,
  status: RunIntrospection['status'],
  steps: readonly (readonly [name: string, status: StepStatus, durationMs?: number])[],
  rest: Partial<RunIntrospection> = {},
): RunIntrospection {
  return {
    id,
    service: 'shop',
    requestId: `request of ${id}`,
    status,
    attempt: 1,
    acceptedAt: SERVER_NOW - 5_000,
    steps: steps.map(([name, state, durationMs]) => ({
      name,
      kind: 'run',
      status: state,
      ...(durationMs !== undefined && { durationMs }),
    })),
    ...rest,
  };
}

/** Returns an agent without runs. */
export function agentOf(name: string, rest: Partial<AgentIntrospection> = {}): AgentIntrospection {
  return {
    name,
    model: 'small-1',
    tools: [],
    delegates: [],
    runs: {},
    tokenUsage: { promptTokens: 0, completionTokens: 0, totalTokens: 0 },
    ...rest,
  };
}

/** Returns a parsed response of the route of an event type. */
export function detailOf(type: string, metrics: Counts = countsOf(), rest: Partial<EventBody> = {}): EventBody {
  return {
    type,
    ...metrics,
    deduplicated: 0,
    durationMs: { p50: null, p95: null, p99: null, max: null },
    perMinute: Array.from({ length: 60 }, (_, minute) => ({
      at: SERVER_NOW - (59 - minute) * 60_000,
      received: 0,
      completed: 0,
      failed: 0,
    })),
    recentFailures: [],
    ...rest,
  };
}
