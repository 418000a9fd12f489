import type { ToolCall, ToolResult } from '../model/message.js';
import type { ExecutedCall } from '../tools/tool-executor.js';

/** Recorded result of a tool call: what the model was sent. */
export interface RecordedCall {
  readonly content: string;
  /** The content is the whole result as JSON. */
  readonly isJson?: true;
  readonly error?: string;
  readonly durationMs: number;
}

/** Returns what is recorded of an executed call. */
export function toRecorded({ result: { error, durationMs }, content, isJson }: ExecutedCall): RecordedCall {
  if (error !== undefined) return { content, error, durationMs };
  return isJson === true ? { content, isJson, durationMs } : { content, durationMs };
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
