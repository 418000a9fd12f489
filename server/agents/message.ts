/** Who speaks. `tool` carries the result of one tool call. */
export type MessageRole = 'system' | 'user' | 'assistant' | 'tool';

/** One requested invocation of a tool. */
export interface ToolCall {
  /** Unique within a transcript. */
  id: string;
  name: string;
  /** The arguments as the model wrote them: JSON, unless the model erred. Empty means `{}`. */
  arguments: string;
}

/** One entry of a transcript. */
export interface Message {
  role: MessageRole;
  /** The text; of a `tool` message the result as JSON, or the error. Empty where the model only called tools. */
  content: string;
  /** On a `tool` message: the call that it answers. */
  toolCallId?: string;
  /** On an `assistant` message: the calls that it asks for. */
  toolCalls?: ToolCall[];
  /** On a `user` message in a memory: the run that it is the input of, see {@link AgentRunOptions.idempotencyKey}. */
  idempotencyKey?: string;
  /** What the vendor wants back unchanged with this message, such as a thought signature. JSON. */
  providerMetadata?: Record<string, unknown>;
}
