/**
 * Agents: a model with a purpose and tools, that may remember, delegate, and handle events.
 *
 * @module hubline/agents
 */
export type { HandlerCtx, HandlerFunction } from '../hub/events/context.js';
export type { RetryConfig } from '../hub/events/retry-policy.js';
export type { HubWorkflow, WorkflowConfig, WorkflowStep } from '../hub/runs/workflow.js';
export type { Clock } from '../transports/clock.js';
export type { TransportManager } from '../transports/transport.js';
export { type Agent, createAgent } from './agent.js';
export type { AgentConfig } from './agent-config.js';
export type { AgentContext } from './agent-context.js';
export { AgentRegistry, createAgentRegistry } from './agent-registry.js';
export type { AgentRunOptions } from './agent-run-options.js';
export type { AgentStream, AgentStreamEvent } from './agent-stream.js';
export { createDebate, type Debate, type DebateConfig } from './debate.js';
export type { DebateContribution, DebateResult, DebateRound } from './debate-run.js';
export {
  AgentRunError,
  DebateError,
  DelegationCycleError,
  DelegationDepthError,
  DuplicateAgentError,
  DuplicateToolError,
  EmitOutsideHubError,
  EmptyAnswerError,
  InvalidAnswerError,
  MemoryEntryError,
  NoRegistryError,
  OrphanToolMessageError,
  StreamClosedError,
  StuckLoopError,
  TooFewSpeakersError,
  ToolTimeoutError,
  UnknownAgentError,
} from './errors.js';
export type { AgentMemory } from './memory/agent-memory.js';
export { ConversationMemory, type ConversationMemoryOptions } from './memory/conversation-memory.js';
export type { Message, MessageRole, ToolCall } from './message.js';
export type { FinishReason, ModelOptions, ModelProvider, ModelResponse, ModelStreamChunk } from './model-provider.js';
export { type AgentStep, createPipeline, type PipelineConfig } from './pipeline.js';
export {
  AnthropicProvider,
  /** The same class as `AnthropicProvider`, under the name of the specification. */
  AnthropicProvider as BetaProvider,
  type AnthropicProviderOptions,
  /** The same options as `AnthropicProviderOptions`, under the name of the specification. */
  type AnthropicProviderOptions as BetaProviderOptions,
} from './providers/anthropic-provider.js';
export {
  GeminiProvider,
  /** The same class as `GeminiProvider`, under the name of the specification. */
  GeminiProvider as GammaProvider,
  type GeminiProviderOptions,
  /** The same options as `GeminiProviderOptions`, under the name of the specification. */
  type GeminiProviderOptions as GammaProviderOptions,
} from './providers/gemini-provider.js';
export { fromLanguageModel, type LanguageModel } from './providers/language-model.js';
export {
  OpenAIProvider,
  /** The same class as `OpenAIProvider`, under the name of the specification. */
  OpenAIProvider as AlphaProvider,
  type OpenAIProviderOptions,
  /** The same options as `OpenAIProviderOptions`, under the name of the specification. */
  type OpenAIProviderOptions as AlphaProviderOptions,
} from './providers/openai-provider.js';
export {
  ContentFilterError,
  CutStreamError,
  InvalidApiKeyError,
  ProviderError,
  type ProviderErrorDetails,
} from './providers/provider-error.js';
export type { VendorProviderOptions } from './providers/vendor-provider.js';
export type { AgentRunResult, AgentRunStatus } from './run.js';
export type { TokenUsage } from './token-usage.js';
export { createTool, type Tool, type ToolDefinition, type ToolResult } from './tool.js';
