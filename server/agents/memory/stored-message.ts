import type { ExchangeMark, Message, ToolCall } from '../model/message.js';
import type { TokenUsage } from '../model/token-usage.js';

const roles: readonly unknown[] = ['system', 'user', 'assistant', 'tool'];
const statuses: readonly unknown[] = [undefined, 'completed', 'max_iterations', 'token_budget_exceeded'];

/** Parses a stored message. Returns `undefined` if the text is not a message. */
export function parseMessage(text: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isMessage(value) ? value : undefined;
  } catch {
    // The error of JSON.parse quotes the text, which must not reach a log.
    return undefined;
  }
}

function isMessage(value: unknown): value is Message {
  if (typeof value !== 'object' || value === null) return false;
  const fields: { [Key in keyof Message]?: unknown } = value;
  const { role, content, toolCallId, toolCalls, exchange, providerMetadata, isSummary } = fields;
  return (
    roles.includes(role) &&
    typeof content === 'string' &&
    (toolCallId === undefined || typeof toolCallId === 'string') &&
    (exchange === undefined || isExchangeMark(exchange)) &&
    (toolCalls === undefined || (Array.isArray(toolCalls) && toolCalls.every(isToolCall))) &&
    (isSummary === undefined || isSummary === true) &&
    (providerMetadata === undefined || (typeof providerMetadata === 'object' && providerMetadata !== null))
  );
}

function isToolCall(value: unknown): value is ToolCall {
  if (typeof value !== 'object' || value === null) return false;
  const { id, name, arguments: text }: { [Key in keyof ToolCall]?: unknown } = value;
  return typeof id === 'string' && typeof name === 'string' && typeof text === 'string';
}

function isExchangeMark(value: unknown): value is ExchangeMark {
  if (typeof value !== 'object' || value === null) return false;
  const { id, index, turns, toolCalls, usage, status }: { [Key in keyof ExchangeMark]?: unknown } = value;
  return (
    typeof id === 'string' && [index, turns, toolCalls].every(isCount) && isUsage(usage) && statuses.includes(status)
  );
}

function isUsage(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { promptTokens, completionTokens, totalTokens, cost = 0 }: { [Key in keyof TokenUsage]?: unknown } = value;
  return [promptTokens, completionTokens, totalTokens, cost].every((count) => typeof count === 'number' && count >= 0);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
