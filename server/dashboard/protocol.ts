/**
 * Bodies of the dashboard's JSON routes, protocol 2: the contract between the handler and the page.
 *
 * @module
 */

import type { EventRate } from '../hub/events/event.js';
import type { ResolvedRetry } from '../hub/events/retry-policy.js';
import type {
  AgentSummary,
  EventKind,
  AgentIntrospection as HubAgentIntrospection,
  HubIntrospection,
  WorkflowIntrospection as HubWorkflowIntrospection,
} from '../hub/introspection/introspection.js';
import type { Durations, FailureRecord } from '../transports/stats.js';

export type { RunIntrospection, StepIntrospection, StepStatus } from '../hub/introspection/run-introspection.js';
export type { AgentSummary, Durations, EventKind, FailureRecord };

/** Version of the bodies. It rises if a field changes its meaning or is removed, not for a new optional field. */
export type ProtocolVersion = 2;

/** Counts since the start. At every instant `received = completed + failed + pending`. */
export interface Counts {
  /** Accepted events. Retries do not count again. */
  readonly received: number;
  /** Events with a successful last attempt. */
  readonly completed: number;
  /** Events that ended without success, cancelled ones included. */
  readonly failed: number;
  /** Accepted events without an outcome: waiting, delayed, suspended or running. */
  readonly pending: number;
  /** Handlers that are running. Part of `pending`. */
  readonly active: number;
  /** Events that wait for their time. Part of `pending`. */
  readonly delayed: number;
  /** Workflow runs that wait for a time, an event or another run. Part of `pending`. */
  readonly suspended: number;
  /** Failed attempts that were scheduled for a retry. */
  readonly retried: number;
  /** Events that were not accepted because their `dedupeId` was known. Not part of `received`. */
  readonly deduplicated: number;
  /** Cancelled events. Part of `failed`. */
  readonly cancelled: number;
  /** Dead letters that are open: neither replayed nor discarded. */
  readonly deadLetters: number;
  /** Acceptance time of the oldest pending event in epoch milliseconds; absent if nothing is pending. */
  readonly oldestPendingAt?: number;
  /** Epoch milliseconds of the last acceptance; absent until an event is received. */
  readonly lastReceivedAt?: number;
  /** Epoch milliseconds of the last terminal failure; absent until an event fails. */
  readonly lastFailedAt?: number;
}

/** Counts of one period. The failure rate is `(failed - cancelled) / (completed + failed - cancelled)`. */
export interface PeriodCounts {
  readonly received: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly retried: number;
}

/** Activity of the last minutes. "5 minutes" are the current minute and the five before it. */
export interface RecentActivity {
  readonly last5Min: PeriodCounts;
  /** Waiting time from acceptance to the first attempt over 5 minutes; `null` if no event started in them. */
  readonly waitP95Ms: number | null;
  /** Duration of attempts over 5 minutes; `null` if no attempt ended in them. */
  readonly durationP95Ms: number | null;
  /** The last 10 minutes, oldest first, the current one last. */
  readonly minutes: { readonly received: readonly number[]; readonly failed: readonly number[] };
}

/** Last failure of an event type, without the payload. */
export interface LastFailure {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly name: string;
  readonly message: string;
}

/** Registered event type. */
export interface EventIntrospection {
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
  readonly recent: RecentActivity;
  readonly lastFailure?: LastFailure;
}

/** Columns of equal periods, oldest first, the current period last. */
export interface History {
  /** Start of the first period in epoch milliseconds. */
  readonly startAt: number;
  readonly stepMs: number;
  readonly received: readonly number[];
  readonly completed: readonly number[];
  readonly failed: readonly number[];
  readonly waitP95Ms: readonly (number | null)[];
  readonly durationP95Ms: readonly (number | null)[];
}

/** Histories of one type or of the hub. */
export interface Histories {
  /** 60 periods of a minute. */
  readonly minutes: History;
  /** 288 periods of 5 minutes. */
  readonly fiveMinutes: History;
  /** 168 periods of an hour. */
  readonly hours: History;
}

/** Kind of a problem. */
export type ProblemKind =
  | 'failing'
  | 'backlog'
  | 'oldest-pending'
  | 'no-process'
  | 'dead-letters'
  | 'overdue-schedule'
  | 'approval-waiting';

/** Condition that needs attention. */
export interface Problem {
  readonly kind: ProblemKind;
  readonly severity: 'error' | 'warning';
  readonly eventType?: string;
  readonly workflow?: string;
  readonly service?: string;
  readonly schedule?: string;
  /** Events that failed in the last 5 minutes. */
  readonly failed?: number;
  /** Events that ended in the last 5 minutes. */
  readonly ended?: number;
  readonly pending?: number;
  /** Epoch milliseconds at which the condition began. */
  readonly since?: number;
  /** Epoch milliseconds of its last occurrence. */
  readonly lastAt?: number;
  readonly lastError?: { readonly name: string; readonly message: string };
  /** Number of dead letters or of waiting approvals. */
  readonly count?: number;
}

/** Health of a hub. */
export interface Health {
  readonly status: 'ok' | 'degraded' | 'failing';
  /** At most 50 problems, the worst first. */
  readonly problems: readonly Problem[];
  /** Number of all problems. */
  readonly problemCount: number;
}

/** Registered workflow. */
export interface WorkflowIntrospection extends Omit<HubWorkflowIntrospection, 'metrics'> {
  readonly metrics: Counts;
  readonly recent?: RecentActivity;
}

/** Agent that a hub runs, with its runs and tokens since the start. */
export interface AgentIntrospection extends Omit<HubAgentIntrospection, 'tokenUsage'> {
  readonly tokenUsage: {
    readonly promptTokens: number;
    readonly completionTokens: number;
    readonly totalTokens: number;
    /** Part of `promptTokens` that the vendor read from its cache. */
    readonly cachedTokens?: number;
    /** Part of `completionTokens` that the model used to reason. */
    readonly reasoningTokens?: number;
  };
  /** Cost of all runs in US dollars, if the prices are known. */
  readonly costUsd?: number;
  /** Duration of runs since the start. */
  readonly durationMs?: Durations;
  readonly approvalsWaiting?: number;
}

/** Body of `GET /api/introspection`. */
export interface IntrospectionBody {
  readonly protocol: ProtocolVersion;
  readonly hub: HubIntrospection['hub'];
  readonly health: Health;
  /** Sums over all event types. */
  readonly totals: { readonly metrics: Counts; readonly recent: RecentActivity; readonly histories: Histories };
  readonly events: readonly EventIntrospection[];
  readonly workflows: readonly WorkflowIntrospection[];
  readonly agents: readonly AgentIntrospection[];
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

/** Settings of an event type. */
export interface EventSettings {
  readonly retry?: Omit<ResolvedRetry, 'retryIf'>;
  readonly timeoutMs?: number;
  readonly concurrency?: number;
  /** Events are ordered and limited by a key. */
  readonly hasKey?: boolean;
  readonly concurrencyPerKey?: number;
  readonly rate?: EventRate;
  readonly debounceMs?: number;
  readonly debounceMaxMs?: number;
  readonly dedupeWindowMs?: number;
}

/** Percentiles of two periods. */
export interface PeriodDurations {
  readonly last5Min: Durations;
  readonly lastHour: Durations;
}

/** Body of `GET /api/events/:type`. */
export interface EventBody extends Counts {
  readonly type: string;
  readonly settings: EventSettings;
  /** JSON Schema of the payload. */
  readonly schema?: Readonly<Record<string, unknown>>;
  readonly recent: RecentActivity;
  /** Waiting time from acceptance to the first attempt. */
  readonly waitMs: PeriodDurations;
  /** Duration of attempts. */
  readonly durationMs: PeriodDurations;
  readonly histories: Histories;
  /** The last 20 terminal failures, newest first. */
  readonly recentFailures: readonly FailureRecord[];
}

/** Body of every response whose status is neither 200 nor 304. */
export interface ErrorBody {
  readonly error: { readonly code: string; readonly message: string };
}
