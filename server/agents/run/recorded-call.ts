import type { ToolCall, ToolResult } from '../model/message.js';
import type { CallSpending } from '../model/token-usage.js';
import type { ExecutedCall } from '../tools/tool-executor.js';

/** Recorded result of a tool call: what the model was sent. */
export interface RecordedCall {
  readonly content: string;
  /** The content is the whole result as JSON. */
  readonly isJson?: true;
  readonly error?: string;
  readonly durationMs: number;
  /** Spending of the agents that the call ran. */
  readonly spent?: CallSpending;
}

/** Returns what is recorded of an executed call. @param spent spending of the agents that it ran */
export function toRecorded(
  { result: { error, durationMs }, content, isJson }: ExecutedCall,
  spent: CallSpending,
): RecordedCall {
  const recorded: { -readonly [Key in keyof RecordedCall]: RecordedCall[Key] } = { content, durationMs };
  if (error !== undefined) recorded.error = error;
  else if (isJson === true) recorded.isJson = isJson;
  if (spent.totalTokens > 0 || spent.runs !== undefined) recorded.spent = spent;
  return recorded;
}

/** Returns the executed call of a record that an earlier delivery wrote. */
export function toReplayed(recorded: RecordedCall, call: ToolCall): ExecutedCall {
  const executed = toExecuted(recorded, call);
  return recorded.spent === undefined ? executed : { ...executed, spentBefore: recorded.spent };
}

/** Returns the executed call of a record. */
export function toExecuted(
  { content, isJson: isValue, error, durationMs }: RecordedCall,
  { id, name }: ToolCall,
): ExecutedCall {
  const value: unknown = error !== undefined ? null : isValue === true ? JSON.parse(content) : content;
  const result: ToolResult =
    error === undefined
      ? { toolCallId: id, name, result: value, durationMs }
      : { toolCallId: id, name, result: value, error, durationMs };
  return { result, content, isInterrupted: false };
}
