import type {
  AgentOverview,
  Counts,
  EventBody,
  EventOverview,
  Histories,
  History,
  PeriodCounts,
  RecentActivity,
  RunIntrospection,
  StepStatus,
  WorkflowOverview,
} from '../../server/dashboard/protocol.js';
import { eventColumns } from '../../server/dashboard/routes/event-columns.js';
import type { Introspection } from '../api/decode-introspection.js';
import type { Moment } from '../state/event-row.js';

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
    pending,
    active: 0,
    delayed: 0,
    suspended: 0,
    retried: 0,
    deduplicated: 0,
    filtered: 0,
    cancelled: 0,
    deadLetters: 0,
    ...rest,
  };
}

/** Returns the counts of a period with `received = completed + failed`. */
export function periodOf(completed = 0, failed = 0, rest: Partial<PeriodCounts> = {}): PeriodCounts {
  return { received: completed + failed, completed, failed, cancelled: 0, retried: 0, ...rest };
}

/** Returns the activity of the last minutes. All events of the 5 minutes are in the current one. */
export function recentOf(last5Min: PeriodCounts = periodOf(), rest: Partial<RecentActivity> = {}): RecentActivity {
  const zeros = Array.from({ length: 19 }, () => 0);
  return {
    last5Min,
    waitP95Ms: null,
    durationP95Ms: null,
    minutes: { received: [...zeros, last5Min.received], failed: [...zeros, last5Min.failed] },
    ...rest,
  };
}

/** Returns a history that ends at `SERVER_NOW`, with the given columns at its end. */
export function historyOf(count: number, stepMs: number, end: Partial<History> = {}): History {
  const column = <T>(last: readonly T[] = [], rest: T): T[] => [
    ...Array.from({ length: count - last.length }, () => rest),
    ...last,
  ];
  return {
    startAt: Math.floor(SERVER_NOW / stepMs) * stepMs - (count - 1) * stepMs,
    stepMs,
    received: column(end.received, 0),
    completed: column(end.completed, 0),
    failed: column(end.failed, 0),
    waitP95Ms: column<number | null>(end.waitP95Ms, null),
    durationP95Ms: column<number | null>(end.durationP95Ms, null),
  };
}

/** Returns histories whose minutes end with the given columns. */
export function historiesOf(minutes: Partial<History> = {}): Histories {
  return {
    minutes: historyOf(60, 60_000, minutes),
    fiveMinutes: historyOf(588, 300_000),
    hours: historyOf(168, 3_600_000),
  };
}

/** Returns a registered event type. */
export function eventOf(type: string, metrics: Counts = countsOf(), rest: Partial<EventOverview> = {}): EventOverview {
  return { type, kind: 'handler', metrics, recent: recentOf(), ...rest };
}

/** Returns an event type with failures in the last 5 minutes. */
export function failingOf(type: string, completed: number, failed: number, rest: Partial<Counts> = {}): EventOverview {
  return eventOf(type, countsOf(completed, failed, { deadLetters: failed, lastFailedAt: SERVER_NOW, ...rest }), {
    recent: recentOf(periodOf(completed, failed)),
  });
}

/** Returns a parsed response of the introspection route. */
export function introspectionOf(
  events: readonly EventOverview[],
  hub: Partial<Introspection['hub']> = {},
  rest: Partial<Omit<Introspection, 'hub' | 'events'>> = {},
): Introspection {
  return {
    hub: {
      service: 'shop',
      transport: 'memory',
      version: '1.0.0',
      startedAt: SERVER_NOW - 3_600_000,
      now: SERVER_NOW,
      ...hub,
    },
    health: { status: 'ok', problems: [], problemCount: 0 },
    totals: { metrics: sumOf(events), recent: recentOf(), histories: historiesOf() },
    events: eventColumns(events),
    workflows: [],
    agents: [],
    ...rest,
  };
}

function sumOf(events: readonly EventOverview[]): Counts {
  const total = (of: (counts: Counts) => number): number => events.reduce((sum, { metrics }) => sum + of(metrics), 0);
  return countsOf(
    total((counts) => counts.completed),
    total((counts) => counts.failed),
    { pending: total((counts) => counts.pending), deadLetters: total((counts) => counts.deadLetters) },
  );
}

/** Returns a registered workflow with these steps. */
export function workflowOf(
  name: string,
  steps: readonly string[],
  rest: Partial<WorkflowOverview> = {},
): WorkflowOverview {
  return { name, steps: steps.map((step) => ({ name: step, kind: 'step' })), metrics: countsOf(), runs: [], ...rest };
}

/** Returns a run with the given status of each step. Those with a duration ran one after another. */
export function runOf(
  id: string,
  status: RunIntrospection['status'],
  steps: readonly (readonly [name: string, status: StepStatus, durationMs?: number])[],
  rest: Partial<RunIntrospection> = {},
): RunIntrospection {
  const acceptedAt = SERVER_NOW - 5_000;
  let endedAt = acceptedAt;
  return {
    id,
    service: 'shop',
    requestId: `request of ${id}`,
    status,
    attempt: 1,
    acceptedAt,
    steps: steps.map(([name, state, durationMs]) => {
      const step = { name, kind: 'run', status: state } as const;
      if (durationMs === undefined) return step;
      const startedAt = endedAt;
      endedAt += durationMs;
      return { ...step, startedAt, endedAt, durationMs };
    }),
    ...rest,
  };
}

/** Returns an agent without runs. */
export function agentOf(name: string, rest: Partial<AgentOverview> = {}): AgentOverview {
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

const NO_DURATIONS = { p50: null, p95: null, p99: null, max: null };

/** Returns a parsed response of the route of an event type. */
export function detailOf(type: string, metrics: Counts = countsOf(), rest: Partial<EventBody> = {}): EventBody {
  return {
    type,
    ...metrics,
    settings: {},
    recent: recentOf(),
    waitMs: { last5Min: NO_DURATIONS, lastHour: NO_DURATIONS },
    durationMs: { last5Min: NO_DURATIONS, lastHour: NO_DURATIONS },
    histories: historiesOf(),
    recentFailures: [],
    recentEvents: [],
    failedEvents: [],
    ...rest,
  };
}
