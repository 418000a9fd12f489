/**
 * Agents: models with a system prompt and tools, which can keep conversations, delegate, and handle events.
 *
 * @module hubline/agents
 */
export type { SchemaIssue } from '../errors.js';
export type { HandlerCtx, HandlerFunction } from '../hub/events/context.js';
export type { RetryConfig } from '../hub/events/definition/retry-policy.js';
export type { EventRef } from '../hub/references/event-ref.js';
export type { RunCtx } from '../hub/runs/definition/step.js';
export type {
  HubWorkflow,
  UntypedWorkflowConfig,
  WorkflowConfig,
  WorkflowStep,
} from '../hub/runs/definition/workflow.js';
export type { JsonSchema } from '../json-schema/json-schema.js';
export type { Clock } from '../transports/clock.js';
export type { Logger } from '../transports/logger.js';
export type { TransportManager } from '../transports/transport.js';
export type { Agent, AgentHandlerOptions, AgentHandlerResult } from './agent/agent.js';
export type { AgentContext } from './agent/agent-context.js';
export { AgentRunError } from './agent/agent-run-error.js';
export type { AgentRunOptions } from './agent/agent-run-options.js';
export type {
  AgentRunReport,
  AgentRunResult,
  AgentRunStatus,
  CompletedAgentRun,
  FailedAgentRun,
  LimitedAgentRun,
} from './agent/agent-run-result.js';
export type { AgentStream, AgentStreamEvent } from './agent/agent-stream.js';
export type { AgentConfig } from './agent-config.js';
export type {
  ApprovalDecided,
  ApprovalDecision,
  ApprovalEvents,
  ApprovalRequest,
  OnApproval,
} from './approvals/approval.js';
export { NoApproverError } from './approvals/approval-errors.js';
export { createAgent } from './create-agent.js';
export { createDebate, type Debate, type DebateConfig } from './debates/create-debate.js';
export { DebateError, TooFewSpeakersError } from './debates/debate-errors.js';
export type { DebateContribution, DebateResult, DebateRound } from './debates/debate-result.js';
export { AgentRegistry, createAgentRegistry } from './delegation/agent-registry.js';
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
  NoRegistryError,
  OrphanToolMessageError,
  OutputSchemaError,
  StreamClosedError,
  StuckLoopError,
  ToolResultNotJsonError,
  ToolTimeoutError,
  TruncatedOutputError,
  UnknownAgentError,
  UnknownPriceError,
} from './errors.js';
export { McpConnectionError, McpToolError } from './mcp/mcp-errors.js';
export type { McpHttpServer, McpProcessServer, McpServer } from './mcp/mcp-server.js';
export { type McpTools, type McpToolsOptions, mcpTools } from './mcp/mcp-tools.js';
export type { AgentMemory } from './memory/agent-memory.js';
export { ConversationMemory, type ConversationMemoryOptions } from './memory/conversation-memory.js';
export { type Compact, type CutConversation, type SummarizeOptions, summarizeWith } from './memory/summarize-with.js';
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
  ProviderError,
  type ProviderErrorDetails,
} from './model/provider-error.js';
export type { TokenUsage } from './model/token-usage.js';
export { createPipeline } from './pipelines/create-pipeline.js';
export type {
  AgentStep,
  ParallelResults,
  ParallelStep,
  PipelineConfig,
  PipelinePayload,
  PipelineStep,
} from './pipelines/pipeline-step.js';
export {
  AnthropicProvider,
  /** The same class as `AnthropicProvider`, under the name of the specification. */
  AnthropicProvider as BetaProvider,
  type AnthropicProviderOptions,
  /** The same options as `AnthropicProviderOptions`, under the name of the specification. */
  type AnthropicProviderOptions as BetaProviderOptions,
} from './providers/anthropic-provider.js';
export { type FallbackEntry, fallbackProvider } from './providers/fallback-provider.js';
export {
  GeminiProvider,
  /** The same class as `GeminiProvider`, under the name of the specification. */
  GeminiProvider as GammaProvider,
  type GeminiProviderOptions,
  /** The same options as `GeminiProviderOptions`, under the name of the specification. */
  type GeminiProviderOptions as GammaProviderOptions,
} from './providers/gemini-provider.js';
export {
  fromLanguageModel,
  type LanguageModel,
  type LanguageModelProviderOptions,
} from './providers/language-model.js';
export {
  OpenAIProvider,
  /** The same class as `OpenAIProvider`, under the name of the specification. */
  OpenAIProvider as AlphaProvider,
  type OpenAIProviderOptions,
  /** The same options as `OpenAIProviderOptions`, under the name of the specification. */
  type OpenAIProviderOptions as AlphaProviderOptions,
} from './providers/openai-provider.js';
export type { VendorProviderOptions } from './providers/vendor-options.js';
export { createTool, type JsonStandardSchema, type NeedsApproval, type Tool, type ToolOptions } from './tools/tool.js';
export type { UIMessageChunk } from './ui-messages/ui-message-chunk.js';
export {
  toUIMessageResponse,
  toUIMessageStream,
  type UIMessageResponseOptions,
  type UIMessageStreamOptions,
} from './ui-messages/ui-message-stream.js';
