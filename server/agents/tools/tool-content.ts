import { messageOf } from '../../errors.js';
import { ToolResultNotJsonError } from '../errors.js';

/**
 * Converts a tool's result into the content of its tool message: a string unchanged, any other value as JSON.
 * `undefined` becomes `null`, and a bigint becomes a string.
 *
 * @throws {ToolResultNotJsonError} if the value has no JSON form, such as a circular object
 */
export function toResultContent(value: unknown, toolName: string): string {
  if (typeof value === 'string') return value;
  try {
    // JSON.stringify returns undefined for functions and symbols as well.
    return JSON.stringify(value) ?? 'null';
  } catch {
    // A replacer is slow, and few results contain a bigint.
    return toTolerantJson(value, toolName);
  }
}

function toTolerantJson(value: unknown, toolName: string): string {
  try {
    return JSON.stringify(value, bigintAsString) ?? 'null';
  } catch (cause) {
    throw new ToolResultNotJsonError(toolName, messageOf(cause), cause);
  }
}

/**
 * Cuts the content of a tool message to `maxChars`, and adds a note about the missing part for the model. Never splits a
 * surrogate pair.
 */
export function cutContent(content: string, maxChars: number): string {
  if (content.length <= maxChars) return content;
  const isPair = /[\uD800-\uDBFF]/.test(content[maxChars - 1] ?? '');
  const kept = content.slice(0, isPair ? maxChars - 1 : maxChars);
  return `${kept}\n\n[The result is cut: ${content.length - kept.length} of ${content.length} characters are missing.]`;
}

/** Converts the error of a failed call into the content of its tool message. */
export function toErrorContent(error: string): string {
  return `Error: ${error}`;
}

function bigintAsString(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
