import type { Counts } from '../../transports/stats.js';
import type { RateLimit } from '../../transports/transport.js';
import type { ResolvedRetry } from '../events/retry-policy.js';
import type { RunIntrospection } from './run-introspection.js';

/** How the dashboard labels what runs for an event type. `declared`: no handler in any hub that runs. */
export type EventKind = 'handler' | 'agent' | 'debate' | 'declared';

/** What an agent is, as far as it may be shown: never a key, never a prompt. */
export interface AgentSummary {
  readonly name: string;
  readonly model: string;
  readonly tools: readonly string[];
  readonly delegates: readonly string[];
}

/** A registered event type with its settings and counts. */
export interface EventIntrospection {
  readonly type: string;
  readonly description?: string;
  readonly kind: EventKind;
  readonly agent?: AgentSummary;
  readonly retry?: Omit<ResolvedRetry, 'retryIf'>;
  readonly timeoutMs?: number;
  readonly concurrency?: number;
  readonly rate?: RateLimit;
  readonly onSuccess?: string;
  readonly onFailure?: string;
  readonly onComplete?: string;
  /** JSON Schema of the payload, where the schema given can be written as one. */
  readonly schema?: Readonly<Record<string, unknown>>;
  /** Running hubs that handle the type. */
  readonly processes?: number;
  /** Summed over the services that handle the type. */
  readonly metrics: Counts;
  /**
   * Counts a service, and its running hubs that handle the type; present where more than one service does or did, and
   * where one has events pending and no hub that runs.
   */
  readonly services?: readonly { readonly service: string; readonly processes?: number; readonly metrics: Counts }[];
}

/** A registered workflow with its steps and counts. */
export interface WorkflowIntrospection {
  readonly name: string;
  readonly description?: string;
  readonly trigger?: string;
  readonly steps: readonly { readonly name: string; readonly kind: 'step' | 'agent'; readonly agent?: string }[];
  readonly onSuccess?: string;
  readonly onFailure?: string;
  readonly onComplete?: string;
  /** Running hubs that run the workflow. */
  readonly processes?: number;
  readonly metrics: Counts;
  /** The last 10 runs accepted, newest first. */
  readonly runs: readonly RunIntrospection[];
}

/** An agent that a hub runs, with its runs and tokens. */
export interface AgentIntrospection extends AgentSummary {
  readonly description?: string;
  readonly runs: Readonly<Record<string, number>>;
  readonly tokenUsage: {
    readonly promptTokens: number;
    readonly completionTokens: number;
    readonly totalTokens: number;
  };
}

/** Everything registered on a hub and on the hubs that share its transport, with counts: `hub.introspect()`. */
export interface HubIntrospection {
  readonly hub: {
    readonly service: string;
    /** `memory` or `redis`. */
    readonly transport: string;
    /** Version of this package. */
    readonly version: string;
    /** Epoch milliseconds of `start()`; `null` before it. */
    readonly startedAt: number | null;
    /** Epoch milliseconds at which this was read. */
    readonly now: number;
  };
  readonly events: readonly EventIntrospection[];
  readonly workflows: readonly WorkflowIntrospection[];
  readonly agents: readonly AgentIntrospection[];
}
