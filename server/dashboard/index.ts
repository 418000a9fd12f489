/**
 * Dashboard: a request handler that serves a read-only view of a running hub.
 *
 * @module hubline/dashboard
 */

export type { SchemaIssue } from '../errors.js';
export type { EventRef } from '../hub/events/emit.js';
export type { AgentIntrospection, AgentSummary } from '../hub/events/reported-agents.js';
export type { Hub } from '../hub/hub.js';
export type { ErrorGroup, ErrorHour, GroupedFailure } from '../hub/introspection/error-groups.js';
export type {
  AttemptIntrospection,
  EventDetails,
  EventSummary,
  PublicError,
  RequestDetails,
} from '../hub/introspection/event-search.js';
export type { Backlog, Blocker, BlockerKind, Explanation } from '../hub/introspection/explain.js';
export type { Health } from '../hub/introspection/health.js';
export type {
  EventKind,
  HubIntrospection,
  SettingsIntrospection,
  WorkflowIntrospection,
} from '../hub/introspection/introspection.js';
export type {
  AgentRunIntrospection,
  WaitIntrospection,
  WaitSummary,
} from '../hub/introspection/live-state.js';
export type { LostProcess } from '../hub/introspection/process-roster.js';
export type { ProcessState } from '../hub/introspection/process-state.js';
export type { ReleaseIntrospection } from '../hub/introspection/releases.js';
export type { ListedRun, RunList } from '../hub/introspection/run-list.js';
export type { SearchResult } from '../hub/introspection/tag-search.js';
export type { PlacedRun, ReachedStep, WorkflowRuns } from '../hub/introspection/workflow-runs.js';
export type { AuditEntry } from '../hub/operate/audit.js';
export type { Pause, PauseSummary, PauseTarget } from '../hub/pauses.js';
export type { EventStatus } from '../transports/event-record.js';
export type { RetireOptions, RetireResult } from '../transports/services.js';
export type { BacklogRate } from '../transports/statistics/backlog.js';
export type {
  Counts,
  Durations,
  EventMetrics,
  FailureRecord,
  PeriodCounts,
  RecentActivity,
  TotalActivity,
} from '../transports/statistics/stats.js';
export type {
  ActionsFetchOptions,
  ActionsOptions,
  CommonActionsOptions,
  Operator,
  RetiringTransport,
} from './actions/actions-options.js';
export { createActionsFetch, createActionsHandler } from './actions/create-actions-handler.js';
export { createDashboardFetch, type DashboardFetch } from './create-dashboard-fetch.js';
export { createDashboardHandler, type DashboardHandler } from './create-dashboard-handler.js';
export type { CommonDashboardOptions, DashboardFetchOptions, DashboardOptions } from './dashboard-options.js';
export { basicAuth, bearer, type DashboardGuard } from './guards.js';
export { createIngestFetch, createIngestHandler } from './ingest/create-ingest-handler.js';
export type { IngestBody, IngestedEvent, RefusedEvent } from './ingest/ingest-core.js';
export type {
  CommonIngestOptions,
  IngestAccess,
  IngestClient,
  IngestFetchOptions,
  IngestOptions,
} from './ingest/ingest-options.js';
export type { OpenApiDocument } from './ingest/openapi.js';
export {
  type SignatureCheck,
  type SignatureOptions,
  type SignedDelivery,
  type SignedRequest,
  type TimedSignatureOptions,
  verifyGitHub,
  verifyStandardWebhooks,
  verifyStripe,
} from './ingest/webhook-signatures.js';
export type {
  AgentOverview,
  AgentRunsBody,
  AuditBody,
  BulkBody,
  ColumnsBody,
  ContentPart,
  ContentsBody,
  ErrorBody,
  ErrorsBody,
  EventBody,
  EventColumns,
  EventColumnsDetails,
  EventDetailsBody,
  EventOverview,
  HealthBody,
  IntrospectionBody,
  LastFailure,
  OperatorBody,
  PreviewBody,
  ProcessesBody,
  ProtocolVersion,
  RangeBody,
  RequestBody,
  Right,
  RunListBody,
  SearchBody,
  ShownContent,
  TaggedBody,
  WaitsBody,
  WorkflowOverview,
  WorkflowRunsBody,
} from './protocol.js';
export { dashboardCspHashes } from './response.js';
export { getDashboardHtml } from './routes/page.js';
