/**
 * Bodies of the dashboard's two JSON routes: the contract between the handler and the page.
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

/** Version of the bodies. It rises if a field changes its meaning or is removed, not for a new optional field. */
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

/** Body of every response whose status is neither 200 nor 304. */
export interface ErrorBody {
  readonly error: { readonly code: string; readonly message: string };
}
