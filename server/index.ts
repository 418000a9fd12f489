/**
 * Hubline: an event hub, its dashboard, and agents that run on it.
 *
 * @module hubline
 */

export * from './agents/index.js';
export * from './dashboard/index.js';
export type { ErrorInfo, HubErrorOptions, SchemaIssue } from './errors.js';
export {
  DuplicateNameError,
  FatalError,
  HubError,
  InvalidOptionError,
  InvalidSchemaError,
  RetryAfterError,
} from './errors.js';
export { createHub } from './hub/create-hub.js';
export {
  AttemptEndedError,
  DepthLimitError,
  EmitLimitError,
  EventCycleError,
  HandlerTimeoutError,
  HubNotStartedError,
  HubObserverError,
  HubStartedError,
  HubStoppedError,
  InvalidKeyError,
  InvalidTagsError,
  NoApprovalError,
  NotAgentRunError,
  PartialEmitError,
  PayloadNotJsonError,
  PayloadTooLargeError,
  RunEndedError,
  RunErasedError,
  RunLimitError,
  RunNotEndedError,
  SchemaValidationError,
  StepFailedError,
  StoredPayloadError,
  UnknownDeadLetterError,
  UnknownEventError,
  UnknownEventIdError,
  UnknownRunError,
  UnknownStepError,
  UnknownTargetError,
  UnknownWorkflowError,
  WorkflowCancelledError,
  WorkflowFailedError,
  WorkflowVersionError,
} from './hub/errors.js';
export type {
  BatchCtx,
  BatchEmit,
  BatchEvent,
  BatchHandlerFunction,
  BatchOptions,
} from './hub/events/batch.js';
export type { Condition, ResolvedTrigger } from './hub/events/condition.js';
export type { CtxStartWorkflow, CtxTransaction, HandlerCtx, HandlerFunction, HubCtx } from './hub/events/context.js';
export type {
  CtxEmit,
  Emit,
  EmitCause,
  EmitMany,
  EmitManyOptions,
  EmitOptions,
  EventRef,
  PayloadOf,
  TransactionOption,
  WorkflowRef,
} from './hub/events/emit.js';
export type {
  BatchEventConfig,
  BatchEventSettings,
  DebounceKeep,
  EventConfig,
  EventDefinition,
  EventDefinitionConfig,
  EventRate,
  EventSettings,
  Overlap,
} from './hub/events/event.js';
export { createEvent } from './hub/events/event.js';
export type {
  CompletionPayload,
  FailedEvent,
  Failure,
  FailurePayload,
  FollowUpNames,
  FollowUps,
} from './hub/events/follow-ups.js';
export type { Progress, Publish } from './hub/events/live-output.js';
export type { Recorded } from './hub/events/payload.js';
export type { PayloadSchema, SchemaResult } from './hub/events/payload-schema.js';
export type {
  AgentHour,
  AgentIntrospection,
  AgentSummary,
  TurnFacts,
  TurnUsage,
} from './hub/events/reported-agents.js';
export type { ResolvedRetry, RetryConfig } from './hub/events/retry-policy.js';
export type { Hub, ReplayOptions, StopResult } from './hub/hub.js';
export type { HubOptions } from './hub/hub-options.js';
export { TooManySchedulesError } from './hub/hub-schedules.js';
export type { DeadLetter, DeadLetterOptions, DeadLetterSource } from './hub/introspection/dead-letters.js';
export type { ErrorGroup, ErrorHour, GroupedFailure } from './hub/introspection/error-groups.js';
export type {
  AttemptIntrospection,
  EventDetails,
  EventSummary,
  FindOptions,
  PublicError,
  RecentEventSummaries,
  RequestDetails,
} from './hub/introspection/event-search.js';
export type { Backlog, Blocker, BlockerKind, Explanation } from './hub/introspection/explain.js';
export type { Health, HealthOptions, Problem, ProblemKind, Readiness } from './hub/introspection/health.js';
export type { EventDescription } from './hub/introspection/hub-description.js';
export type {
  EventIntrospection,
  EventKind,
  HubIntrospection,
  RangeIntrospection,
  SettingsIntrospection,
  WorkflowIntrospection,
} from './hub/introspection/introspection.js';
export type {
  AgentRunIntrospection,
  WaitIntrospection,
  WaitSummary,
} from './hub/introspection/live-state.js';
export type { LostProcess } from './hub/introspection/process-roster.js';
export type { ProcessIntrospection, ProcessState } from './hub/introspection/process-state.js';
export type { ReleaseIntrospection } from './hub/introspection/releases.js';
export type { ListedRun, RunList, RunListQuery } from './hub/introspection/run-list.js';
export type { SearchQuery, SearchResult } from './hub/introspection/tag-search.js';
export type { PlacedRun, ReachedStep, WorkflowRuns } from './hub/introspection/workflow-runs.js';
export { createLimit, type Limit, type LimitDescription, type LimitOptions } from './hub/limits/limit.js';
export type { LimitRule } from './hub/limits/limit-state.js';
export type {
  AgentSpend,
  SpendLimit,
  SpendLimitDescription,
  SpendOptions,
  SpendUnit,
} from './hub/limits/spend-limit.js';
export type { Spending, SpendRule } from './hub/limits/spend-state.js';
export type { Alert, AlertOptions } from './hub/operate/alerts.js';
export type {
  ActionOptions,
  AuditEntry,
  AuditedAction,
  AuditOptions,
  AuditOutcome,
  AuditTarget,
} from './hub/operate/audit.js';
export type { DecisionOptions } from './hub/operate/decide-approval.js';
export type { Pause, PauseOptions, PauseSummary, PauseTarget, ResumeOptions } from './hub/pauses.js';
export type {
  CancellingEvent,
  CancellingEvents,
  ContractCancel,
  ContractReceives,
  ReceivedEvents,
  RetainOptions,
  WorkflowContract,
  WorkflowDefinition,
  WorkflowDefinitionConfig,
} from './hub/runs/define-workflow.js';
export { defineWorkflow } from './hub/runs/define-workflow.js';
export type { ForkOptions, ForkOrigin } from './hub/runs/fork.js';
export type { StepKind } from './hub/runs/run-entry.js';
export type {
  RunIntrospection,
  RunQuery,
  StepIntrospection,
  StepStatus,
  StepWait,
} from './hub/runs/run-introspection.js';
export type { SendOptions } from './hub/runs/sent-texts.js';
export type {
  MapOptions,
  RunCtx,
  Step,
  StepCtx,
  StepOptions,
  StepRunCtx,
  TransactionStepOptions,
  WaitOptions,
  WorkflowProgress,
} from './hub/runs/step.js';
export type { StreamEvent, StreamOptions } from './hub/runs/stream-run.js';
export type { RunEvent, WatchOptions } from './hub/runs/watch-run.js';
export type {
  AnyWorkflow,
  HubWorkflow,
  ResolvedStep,
  UntypedWorkflowConfig,
  WorkflowConfig,
  WorkflowSettings,
  WorkflowStep,
  WorkflowTrigger,
  WorkflowTriggers,
} from './hub/runs/workflow.js';
export { createWorkflow } from './hub/runs/workflow.js';
export type { WorkflowHandle } from './hub/runs/workflow-handle.js';
export type {
  ListSchedulesOptions,
  ScheduleList,
  ScheduleOutcome,
  ScheduleState,
  Schedules,
} from './hub/schedule-states.js';
export type { CatchUp, ScheduleConfig, ScheduleTarget, ScheduleTimes } from './hub/schedules/schedule.js';
export type { ScheduleDescription, ScheduleIntrospection } from './hub/schedules/schedule-introspection.js';
export type { StoredScheduleConfig } from './hub/schedules/stored-schedule.js';
export { UnreadableScheduleError } from './hub/schedules/stored-schedule.js';
export { createStreamResponse, type StreamResponseOptions } from './hub/stream-response.js';
export type { WorkOptions, WorkResult } from './hub/work.js';
export type { JsonSchema } from './json-schema.js';
export { type PrometheusMetrics, type PrometheusOptions, prometheus } from './prometheus.js';
export type { Redact } from './redaction.js';
export { type BlobStore, BlobStoreError, MissingBlobError, NoBlobStoreError } from './transports/blobs/blob-store.js';
export { folderBlobs } from './transports/blobs/folder-blobs.js';
export type { Clock, Timer } from './transports/clock.js';
export { type Codec, CodecError, CodecMismatchError } from './transports/codec.js';
export type { RateLimit, RunRetention, SqlTransaction, TransactionSettings } from './transports/delivery.js';
export {
  BackpressureError,
  CancelledError,
  CrashLoopError,
  KeyTypeError,
  LeaseLostError,
  MissingPackageError,
  MissingTransactionError,
  NotSubscribedError,
  OtherDatabaseError,
  PendingEventsError,
  RetiredError,
  ServiceRunningError,
  ShutdownError,
  TransactionUnsupportedError,
  TransportUnavailableError,
} from './transports/errors.js';
export type { ErasedPayloads, EventStatus, InboxRecord, RunStatus } from './transports/event-record.js';
export type { KeyValueStore } from './transports/key-values.js';
export type { IsolatedEvent } from './transports/lone-events.js';
export type { MemoryTransportOptions } from './transports/memory/memory-transport.js';
export { memoryTransport } from './transports/memory/memory-transport.js';
export type { BacklogRate } from './transports/statistics/backlog.js';
export type {
  Counts,
  Durations,
  EventMetrics,
  FailureRecord,
  Histories,
  History,
  PeriodCounts,
  PeriodDurations,
  RangeCounts,
  RecentActivity,
  TotalActivity,
  TypeActivity,
} from './transports/statistics/stats.js';
export type { CloseResult, Logger, Receipt, Transport, TransportManager } from './transports/transport.js';
