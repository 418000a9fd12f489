/**
 * Agents: models with a system prompt and tools, which can keep conversations, delegate, and handle events.
 *
 * @module hubline/agents
 */
export type { SchemaIssue } from '../errors.js';
export type { HandlerCtx, HandlerFunction } from '../hub/events/context.js';
export type { EventRef } from '../hub/events/emit.js';
export type { RetryConfig } from '../hub/events/retry-policy.js';
export type { Hub } from '../hub/hub.js';
export type { Limit } from '../hub/limits/limit.js';
export type { LimitRule } from '../hub/limits/limit-state.js';
export type { SpendLimit, SpendUnit } from '../hub/limits/spend-limit.js';
export type { SpendRule } from '../hub/limits/spend-state.js';
export type { RunCtx } from '../hub/runs/step.js';
export type {
  HubWorkflow,
  UntypedWorkflowConfig,
  WorkflowConfig,
  WorkflowStep,
} from '../hub/runs/workflow.js';
export type { StreamResponseOptions } from '../hub/stream-response.js';
export type { JsonSchema } from '../json-schema.js';
export type { Clock } from '../transports/clock.js';
export type { Logger, TransportManager } from '../transports/transport.js';
export type { Agent, AgentHandlerOptions, AgentHandlerResult, AgentRunOptions, ModelAgent } from './agent/agent.js';
export type { AgentContext, ToolContext } from './agent/agent-context.js';
export type { AgentStream, AgentStreamEvent, DeepPartial } from './agent/agent-stream.js';
export type {
  ApprovalDecided,
  ApprovalDecision,
  ApprovalEvents,
  ApprovalRequest,
  OnApproval,
} from './agent/approval.js';
export type {
  AnswerDecision,
  AnswerStart,
  HookResult,
  ToolDecision,
  ToolStart,
  TurnModel,
  TurnPlan,
  TurnStart,
} from './agent/hooks.js';
export type { PublishedAgentEvent } from './agent/published-events.js';
export { type ResumeUIMessageOptions, resumeUIMessageResponse } from './agent/resume-ui-message.js';
export type {
  AgentRunResult,
  AgentRunStatus,
  CompletedAgentRun,
  FailedAgentRun,
  LimitedAgentRun,
  SettledAgentRun,
} from './agent/run-result.js';
export { AgentRunError } from './agent/run-result.js';
export { fromUIMessage } from './agent/ui-message-input.js';
export type { UIMessageChunk } from './agent/ui-message-stream.js';
export {
  toUIMessageResponse,
  toUIMessageStream,
  type UIMessageResponseOptions,
  type UIMessageStreamOptions,
} from './agent/ui-message-stream.js';
export {
  type AsLanguageModelOptions,
  asLanguageModel,
  type ProviderLanguageModel,
  type ProviderModelContent,
  type ProviderModelFinish,
  type ProviderModelMetadata,
  type ProviderModelPart,
  type ProviderModelWarning,
  type ProviderVendorPart,
} from './ai-sdk/as-language-model.js';
export { type DurableModel, type DurableModelOptions, durableModel } from './ai-sdk/durable-model.js';
export { type DurableToolCall, type DurableToolOptions, durableTools, toolCallOf } from './ai-sdk/durable-tools.js';
export { durableHandler } from './ai-sdk/recorded-calls.js';
export type { AgentConfig } from './create-agent.js';
export { createAgent } from './create-agent.js';
export {
  BudgetExceededError,
  DelegationCycleError,
  DelegationDepthError,
  DelegationLimitError,
  DuplicateAgentError,
  DuplicateToolError,
  EmitOutsideHubError,
  EmptyAnswerError,
  EmptySummaryError,
  InterruptedToolError,
  InvalidAnswerError,
  InvalidToolCallError,
  MemoryEntryError,
  NoApproverError,
  NoRegistryError,
  OrphanToolMessageError,
  OutputSchemaError,
  StreamClosedError,
  StreamLockedError,
  StuckLoopError,
  ToolResultNotJsonError,
  ToolTimeoutError,
  TruncatedOutputError,
  UnknownAgentError,
  UnknownPriceError,
} from './errors.js';
export { McpAuthorizationError, McpConnectionError, McpRequestError, McpToolError } from './mcp/mcp-connection.js';
export type { McpPrompt, McpPromptArgument, McpResource } from './mcp/mcp-context.js';
export type { McpAuthProvider, McpHttpServer, McpProcessServer, McpServer } from './mcp/mcp-server.js';
export { finishMcpAuthorization, type McpTools, type McpToolsOptions, mcpTools } from './mcp/mcp-tools.js';
export type { AgentMemory } from './memory/conversation-memory.js';
export { ConversationMemory, type ConversationMemoryOptions } from './memory/conversation-memory.js';
export {
  type Compact,
  type CutConversation,
  type SummarizeOptions,
  summarizeWith,
} from './memory/conversation-summary.js';
export type { ExchangeMark, Message, MessageRole, ToolCall, ToolDefinition, ToolResult } from './model/message.js';
export type {
  FinishReason,
  ModelOptions,
  ModelProvider,
  ModelResponse,
  ModelStreamChunk,
  ReasoningEffort,
  ResponseFormat,
  VendorToolName,
} from './model/model-provider.js';
export {
  type InputPart,
  type MediaFields,
  type MediaPart,
  MediaResult,
  type Part,
  type TextPart,
} from './model/part.js';
export type { ModelPrice } from './model/price.js';
export {
  ContentFilterError,
  CutStreamError,
  InvalidApiKeyError,
  ModelTimeoutError,
  OversizedResponseError,
  ProviderError,
  type ProviderErrorDetails,
  UnsupportedPartError,
} from './model/provider-error.js';
export type { BudgetName, ReachedSpendLimit } from './model/token-ledger.js';
export type { TokenUsage } from './model/token-usage.js';
export type { Source, VendorCall } from './model/vendor-parts.js';
export { createDebate, type Debate } from './multi-agent/create-debate.js';
export type {
  AgentStep,
  ParallelResults,
  ParallelStep,
  PipelineConfig,
  PipelinePayload,
  PipelineStep,
} from './multi-agent/create-pipeline.js';
export { createPipeline } from './multi-agent/create-pipeline.js';
export { AgentRegistry, createAgentRegistry, type RegistrationOptions } from './multi-agent/delegation.js';
export type { DebateConfig, DebateContribution, DebateResult, DebateRound } from './multi-agent/run-debate.js';
export { DebateError, TooFewSpeakersError } from './multi-agent/run-debate.js';
export { type FallbackEntry, fallbackProvider } from './providers/fallback-provider.js';
export {
  fromLanguageModel,
  type LanguageModel,
  type LanguageModelProviderOptions,
} from './providers/language-model.js';
export type { VendorProviderOptions } from './providers/vendor-providers.js';
export {
  AnthropicProvider,
  AnthropicProvider as BetaProvider,
  type AnthropicProviderOptions,
  type AnthropicProviderOptions as BetaProviderOptions,
  GeminiProvider,
  GeminiProvider as GammaProvider,
  type GeminiProviderOptions,
  type GeminiProviderOptions as GammaProviderOptions,
  OpenAIProvider,
  OpenAIProvider as AlphaProvider,
  type OpenAIProviderOptions,
  type OpenAIProviderOptions as AlphaProviderOptions,
} from './providers/vendor-providers.js';
export {
  createTool,
  type JsonStandardSchema,
  type LimitedCall,
  type NeedsApproval,
  type Tool,
  type ToolOptions,
} from './tools/tool.js';
