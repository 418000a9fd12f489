import type { JsonSchema } from '../../json-schema/json-schema.js';
import type { Message, ToolCall, ToolDefinition } from './message.js';
import type { TokenUsage } from './token-usage.js';

/** Reason why a model stopped. `length`: it reached the token limit, so the end of its answer may be missing. */
export type FinishReason = 'stop' | 'tool_calls' | 'length';

/** Format of an answer: JSON that matches a JSON Schema whose root is an object. */
export interface ResponseFormat {
  readonly type: 'json';
  readonly schema: JsonSchema;
}

/** Effort of a model's reasoning. */
export type ReasoningEffort = 'low' | 'medium' | 'high';

/** Model to call, and its settings. */
export interface ModelOptions {
  /** Vendor's name of the model. */
  model: string;
  /** Sampling temperature. @default the vendor's */
  temperature?: number;
  /** Probability mass of the tokens that the model chooses from, from 0 to 1. @default the vendor's */
  topP?: number;
  /** Maximum number of tokens per answer, reasoning included. @default the vendor's */
  maxTokens?: number;
  /** Texts that end the answer. The answer does not contain them. @default none */
  stop?: readonly string[];
  /** Seed of the sampling, a whole number. A vendor without seeds ignores it. @default none */
  seed?: number;
  /**
   * Effort of the model's reasoning, or its maximum number of tokens. Only for models that reason. OpenAI has efforts
   * only. @default the vendor's
   */
  reasoning?: ReasoningEffort | { readonly budgetTokens: number };
  /**
   * Tools that the model must, may or must not call. In an agent's run `'required'` and `{ tool }` apply until the model
   * has called a tool: otherwise no run would end. @default 'auto'
   */
  toolChoice?: 'auto' | 'none' | 'required' | { readonly tool: string };
  /**
   * Requests that the vendor caches the prompt, if it does so only on request (Anthropic). Other vendors cache without
   * one. @default false
   */
  cache?: boolean;
  /**
   * Further settings of the AI SDK's vendor packages, by package: `{ openai: { serviceTier: 'flex' } }`. They override
   * the settings above. A provider of your own receives them unchanged. @default none
   */
  providerOptions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Tools that the model can call. An agent sets this from its own `tools`. */
  tools?: ToolDefinition[];
  /** Format of the answer. An agent sets this from its `outputSchema`. @default text */
  responseFormat?: ResponseFormat;
  /** Milliseconds until a model call fails with {@link ModelTimeoutError}. Enforced by the agent. @default 600_000 */
  timeoutMs?: number;
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
  /** Settings of the call that the model does not support. The agent logs each of them once. */
  ignoredSettings?: readonly string[];
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
  ignoredSettings?: readonly string[];
}

/** Client of a model vendor: a provider class such as `OpenAIProvider`, `fromLanguageModel`, or your own object. */
export interface ModelProvider {
  /** Vendor's name in traces and metrics: `openai`, `anthropic`, `gcp.gemini` ... @default 'unknown' */
  readonly name?: string;
  /**
   * `true` if `chat` reads `responseFormat` of the options. Otherwise an agent with an `outputSchema` describes the
   * schema in its system prompt. @default false
   */
  readonly jsonMode?: boolean;
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
