import type { Message, ToolCall, ToolDefinition } from './message.js';
import type { TokenUsage } from './token-usage.js';

/** Reason why a model stopped. `length`: it reached the token limit, so the end of its answer may be missing. */
export type FinishReason = 'stop' | 'tool_calls' | 'length';

/** Model to call, and its settings. */
export interface ModelOptions {
  /** Vendor's name of the model. */
  model: string;
  /** Sampling temperature. @default the vendor's */
  temperature?: number;
  /** Maximum number of tokens per answer. @default the vendor's */
  maxTokens?: number;
  /** Tools that the model can call. An agent sets this from its own `tools`. */
  tools?: ToolDefinition[];
  /** Aborts the call. An agent sets this from the signal of its run. */
  signal?: AbortSignal;
}

/** One answer of a model. */
export interface ModelResponse {
  content: string;
  toolCalls?: ToolCall[];
  /** All zero if the provider reports none: a run then estimates it. */
  usage: TokenUsage;
  finishReason: FinishReason;
  /** Problem of a tool call that the vendor could not read. The run passes it to the model. */
  unreadableCall?: string;
  /** Stored on the assistant message, see {@link Message.providerMetadata}. */
  providerMetadata?: Record<string, unknown>;
}

/** Part of a streamed answer. Texts and tool calls are concatenated; for every other field the last value counts. */
export interface ModelStreamChunk {
  content?: string;
  /** Complete calls, each in one chunk only. */
  toolCalls?: ToolCall[];
  usage?: TokenUsage;
  /** Present on one chunk. A stream that ends without it is an error. */
  finishReason?: FinishReason;
  unreadableCall?: string;
  providerMetadata?: Record<string, unknown>;
}

/** Client of a model vendor: a provider class such as `OpenAIProvider`, `fromLanguageModel`, or your own object. */
export interface ModelProvider {
  /** Vendor's name in traces and metrics: `openai`, `anthropic`, `gcp.gemini` ... @default 'unknown' */
  readonly name?: string;
  /**
   * Requests one complete answer. The agent's `retry` decides whether a rejected call is retried; the `retryable`
   * of a `ProviderError` can rule that out.
   *
   * @param messages the run's own list, which grows during the run: copy it before you change or keep it
   * @param options its `signal` aborts the call
   */
  chat(messages: Message[], options: ModelOptions): Promise<ModelResponse>;
  /** Requests a streamed answer. Used by `agent.stream`; without it the answer arrives as one chunk. */
  chatStream?(messages: Message[], options: ModelOptions): AsyncIterable<ModelStreamChunk>;
}
