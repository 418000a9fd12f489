import type { Message, ToolCall } from './message.js';
import type { TokenUsage } from './token-usage.js';
import type { ToolDefinition } from './tool.js';

/** Why a model stopped. `length`: at the token limit, so that the last thing it wrote may be cut. */
export type FinishReason = 'stop' | 'tool_calls' | 'length';

/** Which model is called, and how. */
export interface ModelOptions {
  /** The vendor's name of the model. */
  model: string;
  /** @default the vendor's */
  temperature?: number;
  /** Most tokens of one answer. @default the vendor's */
  maxTokens?: number;
  /** Tools that the model may ask for. An agent fills this in from its own `tools`. */
  tools?: ToolDefinition[];
  /** Aborts the call. An agent fills this in from the signal of its run. */
  signal?: AbortSignal;
}

/** One answer of a model. */
export interface ModelResponse {
  content: string;
  toolCalls?: ToolCall[];
  /** All zero where the provider reports none: a run then estimates it. */
  usage: TokenUsage;
  finishReason: FinishReason;
  /** What was wrong with a call that the model tried to make and the vendor could not read; the run tells the model. */
  unreadableCall?: string;
  /** Kept on the assistant message, see {@link Message.providerMetadata}. */
  providerMetadata?: Record<string, unknown>;
}

/** A piece of an answer. Text pieces join up; of every other field the last one counts. */
export interface ModelStreamChunk {
  content?: string;
  /** Whole calls, each in one chunk only: they add up over the chunks. */
  toolCalls?: ToolCall[];
  usage?: TokenUsage;
  /** Present on one chunk: an answer that ends without it was cut off. */
  finishReason?: FinishReason;
  unreadableCall?: string;
  providerMetadata?: Record<string, unknown>;
}

/** Where answers come from. `OpenAIProvider` and its like, `fromLanguageModel`, or an object of your own. */
export interface ModelProvider {
  /** Whose models these are, as traces and metrics name it: `openai`, `anthropic`, `gcp.gemini` ... @default 'unknown' */
  readonly name?: string;
  /**
   * Asks for one whole answer. What it rejects with is tried again as the agent's `retry` has it; a
   * `ProviderError` says itself whether that may help.
   *
   * @param messages the run's own list, which goes on growing: copy it to change or to keep it
   * @param options whose `signal` ends the call
   */
  chat(messages: Message[], options: ModelOptions): Promise<ModelResponse>;
  /** Asks for an answer piece by piece. Used by `agent.stream`; without it the answer arrives in one piece. */
  chatStream?(messages: Message[], options: ModelOptions): AsyncIterable<ModelStreamChunk>;
}
