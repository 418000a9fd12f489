/**
 * Hubline: an event hub, its dashboard, and agents that run on it.
 *
 * @module hubline
 */

export type {
  Agent,
  AgentConfig,
  AgentContext,
  AgentHandlerOptions,
  AgentHandlerResult,
  AgentMemory,
  AgentRunOptions,
  AgentRunReport,
  AgentRunResult,
  AgentRunStatus,
  AgentStep,
  AgentStream,
  AgentStreamEvent,
  AlphaProviderOptions,
  AnthropicProviderOptions,
  ApprovalDecided,
  ApprovalDecision,
  ApprovalEvents,
  ApprovalRequest,
  BetaProviderOptions,
  Compact,
  CompletedAgentRun,
  ConversationMemoryOptions,
  CutConversation,
  Debate,
  DebateConfig,
  DebateContribution,
  DebateResult,
  DebateRound,
  ExchangeMark,
  FailedAgentRun,
  FallbackEntry,
  FinishReason,
  GammaProviderOptions,
  GeminiProviderOptions,
  JsonStandardSchema,
  LanguageModel,
  LanguageModelProviderOptions,
  LimitedAgentRun,
  McpHttpServer,
  McpProcessServer,
  McpServer,
  McpTools,
  McpToolsOptions,
  Message,
  MessageRole,
  ModelOptions,
  ModelPrice,
  ModelProvider,
  ModelResponse,
  ModelStreamChunk,
  NeedsApproval,
  OnApproval,
  OpenAIProviderOptions,
  ParallelResults,
  ParallelStep,
  PipelineConfig,
  PipelinePayload,
  PipelineStep,
  ProviderErrorDetails,
  ReasoningEffort,
  ResponseFormat,
  SummarizeOptions,
  TokenUsage,
  Tool,
  ToolCall,
  ToolDefinition,
  ToolOptions,
  ToolResult,
  UIMessageChunk,
  UIMessageResponseOptions,
  UIMessageStreamOptions,
  VendorProviderOptions,
} from './agents/index.js';
export {
  AgentRegistry,
  AgentRunError,
  AlphaProvider,
  AnthropicProvider,
  BetaProvider,
  ContentFilterError,
  ConversationMemory,
  CutStreamError,
  createAgent,
  createAgentRegistry,
  createDebate,
  createPipeline,
  createTool,
  DebateError,
  DelegationCycleError,
  DelegationDepthError,
  DelegationLimitError,
  DuplicateAgentError,
  DuplicateToolError,
  EmitOutsideHubError,
  EmptyAnswerError,
  EmptySummaryError,
  fallbackProvider,
  fromLanguageModel,
  GammaProvider,
  GeminiProvider,
  InvalidAnswerError,
  InvalidApiKeyError,
  InvalidToolCallError,
  McpConnectionError,
  McpToolError,
  MemoryEntryError,
  ModelTimeoutError,
  mcpTools,
  NoApproverError,
  NoRegistryError,
  OpenAIProvider,
  OrphanToolMessageError,
  OutputSchemaError,
  ProviderError,
  StreamClosedError,
  StuckLoopError,
  summarizeWith,
  TooFewSpeakersError,
  ToolResultNotJsonError,
  ToolTimeoutError,
  TruncatedOutputError,
  toUIMessageResponse,
  toUIMessageStream,
  UnknownAgentError,
  UnknownPriceError,
} from './agents/index.js';
export type {
  AgentOverview,
  CommonDashboardOptions,
  DashboardFetch,
  DashboardFetchOptions,
  DashboardHandler,
  DashboardOptions,
  ErrorBody,
  EventBody,
  EventOverview,
  IntrospectionBody,
  LastFailure,
  ProtocolVersion,
  WorkflowOverview,
} from './dashboard/index.js';
export {
  createDashboardFetch,
  createDashboardHandler,
  dashboardCspHashes,
  getDashboardHtml,
} from './dashboard/index.js';
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
  SchemaValidationError,
  StoredPayloadError,
  UnknownDeadLetterError,
  UnknownEventError,
  UnknownRunError,
  UnknownWorkflowError,
  WorkflowCancelledError,
  WorkflowFailedError,
  WorkflowVersionError,
} from './hub/errors.js';
export type { AgentIntrospection, AgentSummary } from './hub/events/agent-support/agent-introspection.js';
export type { TurnFacts, TurnUsage } from './hub/events/agent-support/turn-facts.js';
export type { CtxStartWorkflow, HandlerCtx, HandlerFunction, HubCtx } from './hub/events/context.js';
export type { EventDefinition, EventDefinitionConfig, EventSettings } from './hub/events/definition/create-event.js';
export { createEvent } from './hub/events/definition/create-event.js';
export type { EventConfig, EventRate } from './hub/events/definition/event.js';
export type {
  CompletionPayload,
  FailurePayload,
  FollowUpNames,
  FollowUps,
} from './hub/events/definition/follow-ups.js';
export type { ResolvedRetry, RetryConfig } from './hub/events/definition/retry-policy.js';
export type { CtxEmit, Emit, EmitCause, EmitMany, EmitManyOptions, EmitOptions } from './hub/events/emit.js';
export type { Recorded } from './hub/events/payloads/recorded-type.js';
export type { PayloadSchema, SchemaResult } from './hub/events/payloads/schema.js';
export type { Hub, HubOptions, StopResult } from './hub/hub.js';
export type { AgentRunIntrospection } from './hub/introspection/agent-runs.js';
export type { DeadLetter, DeadLetterOptions, DeadLetterSource } from './hub/introspection/dead-letters.js';
export type { EventDescription } from './hub/introspection/descriptions/hub-description.js';
export type { Health, Problem, ProblemKind } from './hub/introspection/health.js';
export type {
  EventIntrospection,
  EventKind,
  HubIntrospection,
  RangeIntrospection,
  SettingsIntrospection,
  WorkflowIntrospection,
} from './hub/introspection/introspection.js';
export type {
  AttemptIntrospection,
  EventDetails,
  EventSummary,
  PublicError,
  RequestDetails,
} from './hub/introspection/lookup/event-details.js';
export type { FindOptions, RecentEventSummaries } from './hub/introspection/lookup/event-search.js';
export type { ProcessIntrospection, ProcessState } from './hub/introspection/process-introspection.js';
export type { WaitIntrospection, WaitsIntrospection } from './hub/introspection/wait-introspection.js';
export type { EventRef } from './hub/references/event-ref.js';
export type { WorkflowRef } from './hub/references/workflow-ref.js';
export type {
  MapOptions,
  RunCtx,
  Step,
  StepCtx,
  StepOptions,
  StepRunCtx,
  WaitOptions,
  WorkflowProgress,
} from './hub/runs/definition/step.js';
export type { ResolvedStep } from './hub/runs/definition/step-list.js';
export type {
  AnyWorkflow,
  HubWorkflow,
  RetainOptions,
  UntypedWorkflowConfig,
  WorkflowConfig,
  WorkflowStep,
} from './hub/runs/definition/workflow.js';
export { createWorkflow } from './hub/runs/definition/workflow.js';
export type { StepKind } from './hub/runs/engine/replay/run-entry.js';
export { RunLimitError, StepFailedError } from './hub/runs/errors.js';
export type {
  RunIntrospection,
  RunQuery,
  StepIntrospection,
  StepStatus,
  StepWait,
} from './hub/runs/run-introspection.js';
export type { RunEvent, WatchOptions } from './hub/runs/watch-run.js';
export type { WorkflowHandle } from './hub/runs/workflow-handle.js';
export type { CatchUp, ScheduleConfig, ScheduleTarget, ScheduleTimes } from './hub/schedules/schedule.js';
export type { ScheduleDescription, ScheduleIntrospection } from './hub/schedules/schedule-introspection.js';
export type { JsonSchema } from './json-schema/json-schema.js';
export { type PrometheusMetrics, type PrometheusOptions, prometheus } from './metrics/prometheus.js';
export type { Redact } from './redaction/redactor.js';
export type { Clock, Timer } from './transports/clock.js';
export { type Codec, CodecError } from './transports/codec/codec.js';
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
export type { ErasedPayloads, EventStatus } from './transports/event-record.js';
export type { KeyValueStore } from './transports/key-values/key-value-store.js';
export type { Logger } from './transports/logger.js';
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
export type {
  RateLimit,
  Receipt,
  RunRetention,
  RunStatus,
  Transport,
  TransportManager,
} from './transports/transport.js';
