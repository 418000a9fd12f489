/**
 * Bodies of the dashboard's JSON routes, protocol 2: the contract between the handler and the page.
 *
 * @module
 */

import type { AgentIntrospection, AgentSummary } from '../hub/events/reported-agents.js';
import type { EventDetails, EventSummary, RequestDetails } from '../hub/introspection/event-search.js';
import type { Health, Problem } from '../hub/introspection/health.js';
import type {
  EventKind,
  HubIntrospection,
  SettingsIntrospection,
  WorkflowIntrospection,
} from '../hub/introspection/introspection.js';
import type { AgentRunIntrospection, ProcessState, WaitSummary } from '../hub/introspection/live-state.js';
import type {
  Counts,
  Durations,
  EventMetrics,
  FailureRecord,
  Histories,
  History,
  PeriodCounts,
  PeriodDurations,
  RecentActivity,
  TotalActivity,
} from '../transports/statistics/stats.js';

export type { TurnFacts, TurnUsage } from '../hub/events/reported-agents.js';
export type { AttemptIntrospection, PublicError } from '../hub/introspection/event-search.js';
export type { WaitIntrospection } from '../hub/introspection/live-state.js';
export type { RunIntrospection, StepIntrospection, StepStatus } from '../hub/runs/run-introspection.js';
export { type CounterOf, countersOf, periodCounters } from '../transports/statistics/stats.js';
export type {
  AgentRunIntrospection,
  AgentSummary,
  Counts,
  Durations,
  EventDetails,
  EventKind,
  EventSummary,
  FailureRecord,
  Health,
  Histories,
  History,
  PeriodCounts,
  PeriodDurations,
  Problem,
  RecentActivity,
  SettingsIntrospection as EventSettings,
};

/** Version of the bodies. It rises if a field changes its meaning or is removed, not for a new optional field. */
export type ProtocolVersion = 2;

/** Last failure of an event type, without the payload. */
export interface LastFailure {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly name: string;
  readonly message: string;
}

/** Registered event type. */
export interface EventOverview {
  readonly type: string;
  readonly description?: string;
  readonly kind: EventKind;
  readonly agent?: AgentSummary;
  readonly onSuccess?: string;
  readonly onFailure?: string;
  readonly onComplete?: string;
  /** Number of running processes that handle the type. */
  readonly processes?: number;
  /** Counts per service, if more than one handles the type, or if one has pending events and no process. */
  readonly services?: readonly { readonly service: string; readonly processes?: number; readonly metrics: Counts }[];
  /** Sum over the services that handle the type. */
  readonly metrics: Counts;
  /** Both columns of `minutes` end with the current minute and start with their first count that is not 0. */
  readonly recent: RecentActivity;
  readonly lastFailure?: LastFailure;
}

/** Registered workflow. */
export interface WorkflowOverview extends Omit<WorkflowIntrospection, 'recent' | 'lastFailure'> {
  readonly recent?: RecentActivity;
}

/** Agent that a hub runs, with its runs and tokens since the start. */
export type AgentOverview = AgentIntrospection;

/** Body of `GET /api/introspection`. */
export interface IntrospectionBody {
  readonly protocol: ProtocolVersion;
  readonly hub: Omit<HubIntrospection['hub'], 'retainsDeadLetters'>;
  readonly health: Health;
  /** Sums over all event types. */
  readonly totals: { readonly metrics: Counts } & TotalActivity;
  readonly events: readonly EventOverview[];
  readonly workflows: readonly WorkflowOverview[];
  readonly agents: readonly AgentOverview[];
  /** Schedules of all services, by service and name. */
  readonly schedules?: HubIntrospection['schedules'];
}

/** Body of `GET /api/introspection?view=waits`. */
export interface WaitsBody extends WaitSummary {
  readonly protocol: ProtocolVersion;
  /** Epoch milliseconds at which the data was read. */
  readonly now: number;
}

/** Body of `GET /api/introspection?view=processes`. */
export interface ProcessesBody {
  readonly protocol: ProtocolVersion;
  /** Epoch milliseconds at which the data was read. */
  readonly now: number;
  /** At most 500 running hubs, by service. */
  readonly processes: readonly (ProcessState & {
    readonly service: string;
    /** Index in `registrations`. */
    readonly handles: number;
  })[];
  /** Number of all running hubs. */
  readonly processCount: number;
  /** Event types and workflows that processes handle. Processes of one service share an entry. */
  readonly registrations: readonly { readonly events: readonly string[]; readonly workflows: readonly string[] }[];
}

/** Body of `GET /api/introspection?agent=`: the latest recorded runs of an agent, newest first. */
export interface AgentRunsBody {
  readonly protocol: ProtocolVersion;
  /** Epoch milliseconds at which the data was read. */
  readonly now: number;
  readonly agent: string;
  readonly runs: readonly AgentRunIntrospection[];
}

/**
 * Event types as columns: each value stands at the index of its type in `types`. A column without any count, time or
 * text is absent. Pages parse and compare thousands of types several times faster than as objects.
 */
export interface EventColumns {
  readonly types: readonly string[];
  readonly metrics: { readonly [Name in keyof Counts]?: readonly (number | null)[] };
  readonly last5Min: { readonly [Name in keyof PeriodCounts]?: readonly number[] };
  readonly waitP95Ms?: readonly (number | null)[];
  readonly durationP95Ms?: readonly (number | null)[];
  readonly processes?: readonly (number | null)[];
  /** Counts by the minute as text, such as `"3 0 12"`. */
  readonly minutes: { readonly [Name in keyof RecentActivity['minutes']]?: readonly string[] };
  /** Parts that few types have. A type without an entry has the kind `handler`. */
  readonly details: readonly EventColumnsDetails[];
}

/** Parts of an event type that columns leave out. */
export interface EventColumnsDetails extends Omit<EventOverview, 'type' | 'metrics' | 'recent' | 'processes'> {
  /** Index of the type in `types`. */
  readonly index: number;
}

/** Body of `GET /api/introspection?events=columns`, which the page polls: the same content, with events as columns. */
export interface ColumnsBody extends Omit<IntrospectionBody, 'events'> {
  readonly events: EventColumns;
}

/** Body of `GET /api/introspection?from=&to=`: counts of a range, widened to whole periods of the history that covers it. */
export interface RangeBody {
  readonly protocol: ProtocolVersion;
  /** Epoch milliseconds. */
  readonly from: number;
  readonly to: number;
  readonly stepMs: number;
  readonly events: readonly { readonly type: string; readonly counts: PeriodCounts }[];
}

/** Body of `GET /api/events/:type`. */
export interface EventBody extends EventMetrics {
  readonly settings: SettingsIntrospection;
  /** JSON Schema of the payload. */
  readonly schema?: Readonly<Record<string, unknown>>;
  /** The last 20 terminal failures, newest first. */
  readonly recentFailures: readonly FailureRecord[];
  /** The 50 newest events of the type that are pending or retained, by acceptance, newest first. */
  readonly recentEvents?: readonly EventSummary[];
  /** The 50 newest failed events of the type, by the time of their failure, newest first. */
  readonly failedEvents?: readonly EventSummary[];
}

/** Body of `GET /api/events/:type?id=` and of `GET /api/introspection?id=`. 404 with `ERR_UNKNOWN_EVENT_ID` if no such event is retained. */
export interface EventDetailsBody {
  readonly protocol: ProtocolVersion;
  /** Epoch milliseconds at which the data was read. */
  readonly now: number;
  /** One per service that received the event, at least one. */
  readonly events: readonly EventDetails[];
}

/**
 * Body of `GET /api/introspection?request=`, with the id of a request or of any event of it. 404 with
 * `ERR_UNKNOWN_REQUEST_ID` if nothing of it is retained.
 */
export interface RequestBody extends RequestDetails {
  readonly protocol: ProtocolVersion;
  /** Epoch milliseconds at which the data was read. */
  readonly now: number;
}

/** Body of every response whose status is neither 200 nor 304. */
export interface ErrorBody {
  readonly error: { readonly code: string; readonly message: string };
}
