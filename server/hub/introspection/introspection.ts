import type {
  Counts,
  FailureRecord,
  PeriodCounts,
  RangeCounts,
  RecentActivity,
  TotalActivity,
} from '../../transports/statistics/stats.js';
import type { EventRate } from '../events/event.js';
import type { AgentIntrospection, AgentSummary } from '../events/reported-agents.js';
import type { ResolvedRetry } from '../events/retry-policy.js';
import type { LimitDescription } from '../limits/limit.js';
import type { Pause, PauseSummary } from '../pauses.js';
import type { RunIntrospection } from '../runs/run-introspection.js';
import type { ScheduleIntrospection } from '../schedules/schedule-introspection.js';
import type { LostProcess } from './process-roster.js';
import type { ReleaseIntrospection } from './releases.js';

/** Kind of the handler of an event type. `declared`: no running hub has a handler. */
export type EventKind = 'handler' | 'agent' | 'debate' | 'declared';

/** Settings of a registered event type. */
export interface SettingsIntrospection {
  readonly retry?: Omit<ResolvedRetry, 'retryIf'>;
  readonly timeoutMs?: number;
  readonly concurrency?: number;
  /** Events are ordered and limited by a key. */
  readonly hasKey?: boolean;
  readonly concurrencyPerKey?: number;
  readonly rate?: EventRate;
  /** Limit that it shares with others, unless a function or a key chooses it. */
  readonly limit?: LimitDescription;
  readonly debounceMs?: number;
  readonly debounceMaxMs?: number;
}

/** Registered event type with its settings and counts. */
export interface EventIntrospection extends SettingsIntrospection {
  readonly type: string;
  readonly description?: string;
  readonly kind: EventKind;
  readonly agent?: AgentSummary;
  readonly onSuccess?: string;
  readonly onFailure?: string;
  readonly onComplete?: string;
  /** `hub.search` finds its events. */
  readonly hasTags?: true;
  /** Everyone who may read the dashboard may search for its events by a tag. */
  readonly showTags?: true;
  /**
   * Nothing is computed from the payload that is not stored with it, so that any hub may fork the run of an event. Absent
   * of types with `tags`, and of hubs of an earlier version, which do not describe it.
   */
  readonly recordsInput?: true;
  /** JSON Schema of the payload, if its schema can be converted to one. */
  readonly schema?: Readonly<Record<string, unknown>>;
  /** Number of running hubs that handle the type. */
  readonly processes?: number;
  /** Counts summed over the services that handle the type. */
  readonly metrics: Counts;
  readonly recent: RecentActivity;
  readonly lastFailure?: FailureRecord;
  /** Present while the type, or every service that handles it, is paused. */
  readonly paused?: PauseSummary;
  /**
   * Counts and number of running hubs per service. Present if more than one service has handled the type, or if
   * a service has pending events and no running hub.
   */
  readonly services?: readonly { readonly service: string; readonly processes?: number; readonly metrics: Counts }[];
}

/** Registered workflow with its steps and counts. */
export interface WorkflowIntrospection {
  readonly name: string;
  readonly description?: string;
  /** Event type that starts a run. */
  readonly trigger?: string;
  /** All event types that start a run, if there are several. */
  readonly triggers?: readonly string[];
  /** Workflows whose runs started child runs of it in the last 7 days; absent if there are none. */
  readonly invokedBy?: readonly string[];
  readonly concurrencyPerKey?: number;
  /** `hub.search` finds its runs. */
  readonly hasTags?: true;
  /** Everyone who may read the dashboard may search for its runs by a tag. */
  readonly showTags?: true;
  /**
   * Nothing is computed from the input of a run that is not stored with it, so that any hub may fork the run. Absent of
   * workflows with `tags`, `receives` or `cancelOn`, and of hubs of an earlier version, which do not describe it.
   */
  readonly recordsInput?: true;
  /** Steps of a list, in order. Those with the same `stage` run at the same time. */
  readonly steps: readonly {
    readonly name: string;
    readonly kind: 'step' | 'agent';
    readonly agent?: string;
    readonly stage?: number;
  }[];
  readonly onSuccess?: string;
  readonly onFailure?: string;
  readonly onComplete?: string;
  /** Number of running hubs that handle the workflow. */
  readonly processes?: number;
  readonly metrics: Counts;
  /**
   * Counts and number of running hubs per service. Present if more than one service has handled the workflow, or if
   * a service has pending runs and no running hub.
   */
  readonly services?: NonNullable<EventIntrospection['services']>;
  readonly recent: RecentActivity;
  readonly lastFailure?: FailureRecord;
  /** Present while the workflow, or every service that runs it, is paused. */
  readonly paused?: PauseSummary;
  /** The 10 newest runs, newest first. */
  readonly runs: readonly RunIntrospection[];
}

/** Registrations and counts of a hub and of the hubs that share its transport. Result of `hub.introspect()`. */
export interface HubIntrospection {
  readonly hub: {
    readonly service: string;
    /** Name of the transport, such as `memory`, `sqlite` or `redis`. */
    readonly transport: string;
    /** Version of this package. */
    readonly version: string;
    /** Epoch milliseconds of `start()`; `null` before. */
    readonly startedAt: number | null;
    /** Epoch milliseconds at which the data was read. */
    readonly now: number;
    /** Number of running hubs. */
    readonly processes?: number;
    /** The transport retains the dead letters of this hub's service. */
    readonly retainsDeadLetters: boolean;
  };
  /** Sums over `events`, and the activity of all event types of the transport. */
  readonly totals: { readonly metrics: Counts } & TotalActivity;
  readonly events: readonly EventIntrospection[];
  readonly workflows: readonly WorkflowIntrospection[];
  readonly agents: readonly AgentIntrospection[];
  /** Schedules of all services, by service and name; then those that were set at run time, of which the first 50. */
  readonly schedules: readonly ScheduleIntrospection[];
  /** Number of schedules that were set at run time; absent if there are none. */
  readonly storedSchedules?: number;
  /** Pauses in effect, also of what no running hub registered. */
  readonly pauses: readonly Pause[];
  /** Releases of all services that had a process in the last 7 days, the earliest start first. At most 200. */
  readonly releases: readonly ReleaseIntrospection[];
  /** Processes with handlers that ended in the last hour without `hub.stop()`, the latest first, up to 35 seconds later. */
  readonly lost: readonly LostProcess[];
}

/** Counts of all event types in a range. Result of `hub.getRange()`. */
export interface RangeIntrospection extends Omit<RangeCounts, 'counts'> {
  readonly events: readonly { readonly type: string; readonly counts: PeriodCounts }[];
}
