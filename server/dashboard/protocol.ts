/**
 * Bodies of the dashboard's JSON routes, protocol 2: the contract between the handler and the page.
 *
 * @module
 */

import type { AgentIntrospection, AgentSummary } from '../hub/events/reported-agents.js';
import type { ErrorGroup } from '../hub/introspection/error-groups.js';
import type { EventDetails, EventSummary, RequestDetails } from '../hub/introspection/event-search.js';
import type { Backlog, Explanation } from '../hub/introspection/explain.js';
import type { Health, Problem } from '../hub/introspection/health.js';
import type {
  EventKind,
  HubIntrospection,
  SettingsIntrospection,
  WorkflowIntrospection,
} from '../hub/introspection/introspection.js';
import type { AgentRunIntrospection, WaitSummary } from '../hub/introspection/live-state.js';
import type { ProcessState } from '../hub/introspection/process-state.js';
import type { RunList } from '../hub/introspection/run-list.js';
import type { SearchResult } from '../hub/introspection/tag-search.js';
import type { ReachedStep, WorkflowRuns } from '../hub/introspection/workflow-runs.js';
import type { AuditEntry } from '../hub/operate/audit.js';
import type { Pause, PauseSummary } from '../hub/pauses.js';
import type { ScheduleOutcome } from '../hub/schedule-states.js';
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

export type { Progress } from '../hub/events/live-output.js';
export type { TurnFacts, TurnUsage } from '../hub/events/reported-agents.js';
export type { ErrorHour, GroupedFailure } from '../hub/introspection/error-groups.js';
export type { AttemptIntrospection, PublicError } from '../hub/introspection/event-search.js';
export type { Blocker } from '../hub/introspection/explain.js';
export type { WaitIntrospection } from '../hub/introspection/live-state.js';
export type { LostProcess } from '../hub/introspection/process-roster.js';
export type { ReleaseIntrospection } from '../hub/introspection/releases.js';
export type { ListedRun } from '../hub/introspection/run-list.js';
export type { PlacedRun, ReachedStep } from '../hub/introspection/workflow-runs.js';
export type { AuditEntry } from '../hub/operate/audit.js';
export type { RunIntrospection, StepIntrospection, StepStatus } from '../hub/runs/run-introspection.js';
export { backlogRate } from '../transports/statistics/backlog.js';
export { type CounterOf, countersOf, periodCounters } from '../transports/statistics/stats.js';
export type {
  AgentRunIntrospection,
  AgentSummary,
  Backlog,
  Counts,
  Durations,
  ErrorGroup,
  EventDetails,
  EventKind,
  EventSummary,
  Explanation,
  FailureRecord,
  Histories,
  History,
  Pause,
  PauseSummary,
  PeriodCounts,
  PeriodDurations,
  Problem,
  RecentActivity,
  SettingsIntrospection as EventSettings,
};

/** Version of the bodies. It rises if a field changes its meaning or is removed, not for a new optional field. */
export type ProtocolVersion = 2;

/** Health of the hubs. Hubs of older versions know no pauses. */
export interface HealthBody extends Omit<Health, 'paused'> {
  /** Pauses in effect, the oldest first. */
  readonly paused?: Health['paused'];
}

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
  /** Slots of the type over all processes of a service. Absent if it shares those of the processes. */
  readonly concurrency?: number;
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
  /** Present while the type, or every service that handles it, is paused. */
  readonly paused?: PauseSummary;
}

/** Registered workflow. */
export interface WorkflowOverview
  extends Omit<WorkflowIntrospection, 'recent' | 'lastFailure' | 'hasTags' | 'showTags' | 'recordsInput'> {
  readonly recent?: RecentActivity;
  /** Steps that the runs listed here reached, of a workflow without a list of steps. */
  readonly reached?: readonly ReachedStep[];
}

/** Agent that a hub runs, with its runs and tokens since the start. */
export type AgentOverview = AgentIntrospection;

/** Body of `GET /api/introspection`. */
export interface IntrospectionBody {
  readonly protocol: ProtocolVersion;
  readonly hub: Omit<HubIntrospection['hub'], 'retainsDeadLetters'>;
  readonly health: HealthBody;
  /** Sums over all event types. */
  readonly totals: { readonly metrics: Counts } & TotalActivity;
  readonly events: readonly EventOverview[];
  readonly workflows: readonly WorkflowOverview[];
  readonly agents: readonly AgentOverview[];
  /** Schedules of all services, by service and name. */
  readonly schedules?: HubIntrospection['schedules'];
  /** As in the introspection. */
  readonly storedSchedules?: HubIntrospection['storedSchedules'];
  /** Releases of all services that had a process in the last 7 days, the earliest start first. */
  readonly releases?: HubIntrospection['releases'];
  /** Processes with handlers that ended in the last hour without `hub.stop()`, the latest first. Absent if there are none. */
  readonly lost?: HubIntrospection['lost'];
  /** Path of the actions handler; absent if the dashboard was created without `actions`. */
  readonly actions?: string;
  /** There are event types or workflows with `showTags`, whose events `?tag=` finds. */
  readonly showsTags?: boolean;
}

/** Body of `GET /api/introspection?tag=`. */
export interface TaggedBody {
  readonly protocol: ProtocolVersion;
  /** Epoch milliseconds at which the data was read. */
  readonly now: number;
  readonly tag: string;
  /** Events and runs with the tag, of event types and workflows with `showTags`: the newest 100 by acceptance. */
  readonly events: readonly EventSummary[];
  /** There are older ones. */
  readonly isTruncated: boolean;
}

/** Body of `GET /api/introspection?view=errors`. */
export interface ErrorsBody {
  readonly protocol: ProtocolVersion;
  /** Epoch milliseconds at which the data was read. */
  readonly now: number;
  /** At most the 50 latest groups per event type and workflow, of the 200 that failed last; those seen last first. */
  readonly groups: readonly ErrorGroup[];
}

/** Body of `GET /api/introspection?view=waits`. */
export interface WaitsBody extends WaitSummary {
  readonly protocol: ProtocolVersion;
  /** Epoch milliseconds at which the data was read. */
  readonly now: number;
}

/** Due times of a schedule in the next 12 hours, and the outcome of the last one. */
export interface ScheduleOutlook {
  readonly service: string;
  readonly name: string;
  /** When it is due, in words; absent for rare cron expressions and parts of a second. */
  readonly words?: string;
  /** The next 48 at most, in epoch milliseconds. */
  readonly dueAt: readonly number[];
  /** There are more due times in the 12 hours than are listed. */
  readonly isDense: boolean;
  /** Event or run of the last due time; absent if none was claimed or it is no longer retained. */
  readonly last?: ScheduleOutcome;
  /** As in the introspection. */
  readonly storedId?: string;
}

/** Body of `GET /api/introspection?view=schedules`. */
export interface SchedulesBody {
  readonly protocol: ProtocolVersion;
  /** Epoch milliseconds at which the data was read. */
  readonly now: number;
  /** At most 200 schedules, by service and name. */
  readonly schedules: readonly ScheduleOutlook[];
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

/** Body of `GET /api/introspection?workflow=`: the recent runs of a workflow, and the graph of their steps. */
export interface WorkflowRunsBody extends WorkflowRuns {
  readonly protocol: ProtocolVersion;
  /** Epoch milliseconds at which the data was read. */
  readonly now: number;
  readonly workflow: string;
}

/** Body of `GET /api/introspection?runs=`: a page of all retained runs of a workflow. */
export interface RunListBody extends RunList {
  readonly protocol: ProtocolVersion;
  /** Epoch milliseconds at which the data was read. */
  readonly now: number;
  readonly workflow: string;
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
  /** Errors of the type as groups, those seen last first. */
  readonly errorGroups?: readonly ErrorGroup[];
  /** The 50 newest events of the type that are pending or retained, by acceptance, newest first. */
  readonly recentEvents?: readonly EventSummary[];
  /** The 50 newest failed events of the type, by the time of their failure, newest first. */
  readonly failedEvents?: readonly EventSummary[];
  /** Present while events of the type wait for a slot. */
  readonly backlog?: Backlog;
}

/** Body of `GET /api/events/:type?id=` and of `GET /api/introspection?id=`. 404 with `ERR_UNKNOWN_EVENT_ID` if no such event is retained. */
export interface EventDetailsBody {
  readonly protocol: ProtocolVersion;
  /** Epoch milliseconds at which the data was read. */
  readonly now: number;
  /** One per service that received the event, at least one. */
  readonly events: readonly EventDetails[];
  /** Why it does not run. Absent if it runs or has ended. */
  readonly explanation?: Explanation;
}

/**
 * Body of `GET /api/introspection?request=`, with the id of a request or of any event of it. 404 with
 * `ERR_UNKNOWN_REQUEST_ID` if nothing of it is retained.
 */
export interface RequestBody extends RequestDetails {
  readonly protocol: ProtocolVersion;
  /** Epoch milliseconds at which the data was read. */
  readonly now: number;
  /** Why the event with the id, or the first of the request that waits, does not run. Absent if none waits. */
  readonly explanation?: Explanation;
}

/**
 * Rights of an operator, one per action. `approve` is to approve and to refuse, `payload` to see payloads, results and
 * outputs of steps, `audit` to see who did what.
 */
export type Right =
  | 'replay'
  | 'cancel'
  | 'fork'
  | 'pause'
  | 'resume'
  | 'approve'
  | 'retire'
  | 'erase'
  | 'payload'
  | 'search'
  | 'audit';

/** Place of a content that `formatPayload` receives. */
export interface ContentPart {
  /** `arguments` are those of a call that waits for an approval. */
  readonly kind: 'payload' | 'result' | 'output' | 'arguments';
  /** Step of an output or of arguments. */
  readonly step?: string;
}

/** Body of `GET` of the actions handler. */
export interface OperatorBody {
  readonly user: string;
  readonly can: readonly Right[];
}

/** Result of an action. */
export interface BulkBody {
  /** Number of events, or of targets, that the action changed. */
  readonly done: number;
  /** Events of a list on which the action failed; the others are done. */
  readonly failed?: readonly { readonly id: string; readonly code: string; readonly message: string }[];
  /** Number of events of the filter that are left. */
  readonly remaining?: number;
  /** Time for the filter of the next request, so that events that fail again are not part of it. */
  readonly until?: number;
}

/** Result of an action with `preview`, which changes nothing. */
export interface PreviewBody {
  /** Number of `ids`. */
  readonly count: number;
  /** There are more than 1,000. */
  readonly isMore: boolean;
  readonly ids: readonly string[];
  /** Epoch milliseconds until which the filter looked. */
  readonly until: number;
}

/** Content of an event or a run, as the option `formatPayload` returned it. */
export interface ShownContent extends ContentPart {
  /** JSON text; absent if it could not be formatted. */
  readonly json?: string;
  readonly isWithheld?: boolean;
}

/** Result of the action `payload`. */
export interface ContentsBody {
  /** One per service that received the event. */
  readonly events: readonly (Pick<EventDetails, 'id' | 'service' | 'type' | 'kind'> & {
    readonly contents: readonly ShownContent[];
  })[];
}

/** Result of the action `search`. */
export interface SearchBody extends SearchResult {
  /** Epoch milliseconds at which the data was read. */
  readonly now: number;
}

/** Result of the action `audit`. */
export interface AuditBody {
  /** Epoch milliseconds at which the audit was read. */
  readonly now: number;
  /** Newest first. */
  readonly entries: readonly AuditEntry[];
}

/** Body of every response whose status is neither 200 nor 304. */
export interface ErrorBody {
  readonly error: { readonly code: string; readonly message: string };
}
