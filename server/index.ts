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
  CancelledError,
  DepthLimitError,
  EmitLimitError,
  EventCycleError,
  HandlerTimeoutError,
  HubNotStartedError,
  HubObserverError,
  HubStartedError,
  HubStoppedError,
  InvalidKeyError,
  PartialEmitError,
  PayloadNotJsonError,
  PayloadTooLargeError,
  RunErasedError,
  RunLimitError,
  SchemaValidationError,
  StepFailedError,
  StoredPayloadError,
  UnknownDeadLetterError,
  UnknownEventError,
  UnknownRunError,
  UnknownWorkflowError,
  WorkflowCancelledError,
  WorkflowFailedError,
  WorkflowVersionError,
} from './hub/errors.js';
export type { CtxStartWorkflow, HandlerCtx, HandlerFunction, HubCtx } from './hub/events/context.js';
export type {
  CtxEmit,
  Emit,
  EmitCause,
  EmitMany,
  EmitManyOptions,
  EmitOptions,
  EventRef,
  WorkflowRef,
} from './hub/events/emit.js';
export type {
  EventConfig,
  EventDefinition,
  EventDefinitionConfig,
  EventRate,
  EventSettings,
} from './hub/events/event.js';
export { createEvent } from './hub/events/event.js';
export type {
  CompletionPayload,
  FailurePayload,
  FollowUpNames,
  FollowUps,
} from './hub/events/follow-ups.js';
export type { Recorded } from './hub/events/payload.js';
export type { PayloadSchema, SchemaResult } from './hub/events/payload-schema.js';
export type { AgentIntrospection, AgentSummary, TurnFacts, TurnUsage } from './hub/events/reported-agents.js';
export type { ResolvedRetry, RetryConfig } from './hub/events/retry-policy.js';
export type { Hub, HubOptions, StopResult } from './hub/hub.js';
export type { DeadLetter, DeadLetterOptions, DeadLetterSource } from './hub/introspection/dead-letters.js';
export type {
  AttemptIntrospection,
  EventDetails,
  EventSummary,
  FindOptions,
  PublicError,
  RecentEventSummaries,
  RequestDetails,
} from './hub/introspection/event-search.js';
export type { Health, Problem, ProblemKind } from './hub/introspection/health.js';
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
  ProcessIntrospection,
  ProcessState,
  WaitIntrospection,
  WaitSummary,
} from './hub/introspection/live-state.js';
export type {
  ContractReceives,
  ReceivedEvents,
  RetainOptions,
  WorkflowContract,
  WorkflowDefinition,
  WorkflowDefinitionConfig,
} from './hub/runs/define-workflow.js';
export { defineWorkflow } from './hub/runs/define-workflow.js';
export type { StepKind } from './hub/runs/run-entry.js';
export type {
  RunIntrospection,
  RunQuery,
  StepIntrospection,
  StepStatus,
  StepWait,
} from './hub/runs/run-introspection.js';
export type {
  MapOptions,
  RunCtx,
  Step,
  StepCtx,
  StepOptions,
  StepRunCtx,
  WaitOptions,
  WorkflowProgress,
} from './hub/runs/step.js';
export type { RunEvent, WatchOptions } from './hub/runs/watch-run.js';
export type {
  AnyWorkflow,
  HubWorkflow,
  ResolvedStep,
  UntypedWorkflowConfig,
  WorkflowConfig,
  WorkflowSettings,
  WorkflowStep,
} from './hub/runs/workflow.js';
export { createWorkflow } from './hub/runs/workflow.js';
export type { WorkflowHandle } from './hub/runs/workflow-handle.js';
export type { CatchUp, ScheduleConfig, ScheduleTarget, ScheduleTimes } from './hub/schedules/schedule.js';
export type { ScheduleDescription, ScheduleIntrospection } from './hub/schedules/schedule-introspection.js';
export type { JsonSchema } from './json-schema.js';
export { type PrometheusMetrics, type PrometheusOptions, prometheus } from './prometheus.js';
export type { Redact } from './redaction.js';
export type { Clock, Timer } from './transports/clock.js';
export { type Codec, CodecError, CodecMismatchError } from './transports/codec.js';
export type { RateLimit, RunRetention } from './transports/delivery.js';
export {
  BackpressureError,
  CrashLoopError,
  KeyTypeError,
  LeaseLostError,
  MissingPackageError,
  NotSubscribedError,
  PendingEventsError,
  RetiredError,
  ServiceRunningError,
  ShutdownError,
  TransportUnavailableError,
} from './transports/errors.js';
export type { ErasedPayloads, EventStatus, InboxRecord, RunStatus } from './transports/event-record.js';
export type { KeyValueStore } from './transports/key-values.js';
export type { MemoryTransportOptions } from './transports/memory/memory-transport.js';
export { memoryTransport } from './transports/memory/memory-transport.js';
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
export type { Logger, Receipt, Transport, TransportManager } from './transports/transport.js';
