/**
 * Dashboard: a request handler that serves a read-only view of a running hub.
 *
 * @module hubline/dashboard
 */

export type { AgentIntrospection, AgentSummary } from '../hub/events/reported-agents.js';
export type { Hub } from '../hub/hub.js';
export type {
  AttemptIntrospection,
  EventDetails,
  EventSummary,
  PublicError,
  RequestDetails,
} from '../hub/introspection/event-search.js';
export type { Health } from '../hub/introspection/health.js';
export type {
  EventKind,
  HubIntrospection,
  SettingsIntrospection,
  WorkflowIntrospection,
} from '../hub/introspection/introspection.js';
export type {
  AgentRunIntrospection,
  ProcessState,
  WaitIntrospection,
  WaitSummary,
} from '../hub/introspection/live-state.js';
export type { EventStatus } from '../transports/event-record.js';
export type {
  Counts,
  Durations,
  EventMetrics,
  FailureRecord,
  PeriodCounts,
  RecentActivity,
  TotalActivity,
} from '../transports/statistics/stats.js';
export { createDashboardFetch, type DashboardFetch } from './create-dashboard-fetch.js';
export { createDashboardHandler, type DashboardHandler } from './create-dashboard-handler.js';
export type { CommonDashboardOptions, DashboardFetchOptions, DashboardOptions } from './dashboard-options.js';
export type {
  AgentOverview,
  AgentRunsBody,
  ColumnsBody,
  ErrorBody,
  EventBody,
  EventColumns,
  EventColumnsDetails,
  EventDetailsBody,
  EventOverview,
  IntrospectionBody,
  LastFailure,
  ProcessesBody,
  ProtocolVersion,
  RangeBody,
  RequestBody,
  WaitsBody,
  WorkflowOverview,
} from './protocol.js';
export { dashboardCspHashes } from './response.js';
export { getDashboardHtml } from './routes/page.js';
