/**
 * Agents: models with a system prompt and tools, which can keep conversations, delegate, and handle events.
 *
 * @module hubline/agents
 */
export type { SchemaIssue } from '../errors.js';
export type { HandlerCtx, HandlerFunction } from '../hub/events/context.js';
export type { EventRef } from '../hub/events/emit.js';
export type { RetryConfig } from '../hub/events/retry-policy.js';
export type { RunCtx } from '../hub/runs/step.js';
export type {
  HubWorkflow,
  UntypedWorkflowConfig,
  WorkflowConfig,
  WorkflowStep,
} from '../hub/runs/workflow.js';
export type { JsonSchema } from '../json-schema.js';
export type { Clock } from '../transports/clock.js';
export type { Logger, TransportManager } from '../transports/transport.js';
export type { Agent, AgentHandlerOptions, AgentHandlerResult, AgentRunOptions, ModelAgent } from './agent/agent.js';
export type { AgentContext, ToolContext } from './agent/agent-context.js';
export type { AgentStream, AgentStreamEvent } from './agent/agent-stream.js';
export type {
  ApprovalDecided,
  ApprovalDecision,
  ApprovalEvents,
  ApprovalRequest,
  OnApproval,
} from './agent/approval.js';
export type {
  AgentRunResult,
  AgentRunStatus,
  CompletedAgentRun,
  FailedAgentRun,
  LimitedAgentRun,
  SettledAgentRun,
} from './agent/run-result.js';
export { AgentRunError } from './agent/run-result.js';
export type { UIMessageChunk } from './agent/ui-message-stream.js';
export {
  toUIMessageResponse,
  toUIMessageStream,
  type UIMessageResponseOptions,
  type UIMessageStreamOptions,
} from './agent/ui-message-stream.js';
export type { AgentConfig } from './create-agent.js';
export { createAgent } from './create-agent.js';
export {
  DelegationCycleError,
  DelegationDepthError,
  DelegationLimitError,
  DuplicateAgentError,
  DuplicateToolError,
  EmitOutsideHubError,
  EmptyAnswerError,
  EmptySummaryError,
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
export { McpConnectionError, McpToolError } from './mcp/mcp-connection.js';
export type { McpHttpServer, McpProcessServer, McpServer } from './mcp/mcp-server.js';
export { type McpTools, type McpToolsOptions, mcpTools } from './mcp/mcp-tools.js';
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
} from './model/model-provider.js';
export type { ModelPrice } from './model/price.js';
export {
  ContentFilterError,
  CutStreamError,
  InvalidApiKeyError,
  ModelTimeoutError,
  OversizedResponseError,
  ProviderError,
  type ProviderErrorDetails,
} from './model/provider-error.js';
export type { TokenUsage } from './model/token-usage.js';
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
export { AgentRegistry, createAgentRegistry } from './multi-agent/delegation.js';
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
export { createTool, type JsonStandardSchema, type NeedsApproval, type Tool, type ToolOptions } from './tools/tool.js';
