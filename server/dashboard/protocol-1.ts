/**
 * Bodies of protocol 1, which the handler sends until the hub's statistics have periods.
 *
 * @module
 */
import type { HubIntrospection } from '../hub/introspection/introspection.js';
import type { EventMetrics, FailureRecord } from '../transports/stats.js';

export type { RunIntrospection } from '../hub/introspection/run-introspection.js';

/** Version of the bodies. */
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
