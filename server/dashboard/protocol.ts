/**
 * What the dashboard's two JSON routes answer: the contract between handler and page.
 *
 * @module
 */
import type { HubIntrospection } from '../hub/introspection/introspection.js';
import type { EventMetrics, FailureRecord } from '../transports/stats.js';

export type {
  AgentIntrospection,
  AgentSummary,
  EventIntrospection,
  EventKind,
  WorkflowIntrospection,
} from '../hub/introspection/introspection.js';
export type { RunIntrospection, StepIntrospection, StepStatus } from '../hub/introspection/run-introspection.js';
export type { Counts, Durations, FailureRecord, MinuteBucket } from '../transports/stats.js';

/** Raised when a field changes its meaning or goes away; a new optional field does not raise it. */
export type ProtocolVersion = 1;

/** Body of `GET /api/introspection`. */
export interface IntrospectionBody extends HubIntrospection {
  readonly protocol: ProtocolVersion;
}

/** Body of `GET /api/events/:type`. */
export interface EventBody extends EventMetrics {
  /** The last 20 terminal failures, newest first. */
  readonly recentFailures: readonly FailureRecord[];
}

/** Body of every answer that is not 200 or 304. */
export interface ErrorBody {
  readonly error: { readonly code: string; readonly message: string };
}
