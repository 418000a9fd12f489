import { isDeepStrictEqual } from 'node:util';
import { jsonOf } from './read-tools.js';

/** Result of a call, as its server sent it. */
export interface ToolAnswer {
  readonly isError: boolean;
  readonly content: readonly unknown[];
  readonly structured: unknown;
}

/** Reads the result of a call. Returns `undefined` if it has another form, or is deeper than the stack. */
export function readAnswer(result: Readonly<Record<string, unknown>>): ToolAnswer | undefined {
  // Servers of protocol versions before 2024-11-05 return `toolResult`.
  const { content = 'toolResult' in result ? undefined : [], structuredContent, isError } = result;
  if (!Array.isArray(content) || jsonOf(result) === undefined) return undefined;
  return { isError: Boolean(isError), content, structured: structuredContent ?? undefined };
}

/**
 * Converts the result of a call into the value that the model receives: the structured content if the text only repeats
 * it, else the texts, each on lines of its own. Binary content becomes a note.
 */
export function toModelResult({ content, structured }: ToolAnswer): unknown {
  if (structured === undefined) return content.map(toText).join('\n');
  const others = content.filter((part) => !repeats(part, structured));
  if (others.length === 0) return structured;
  return [...others.map(toText), JSON.stringify(structured)].join('\n');
}

/** Returns the text of a failed call. */
export function toErrorText(answer: ToolAnswer): string {
  const result = toModelResult(answer);
  return typeof result === 'string' ? result : JSON.stringify(result);
}

/** Servers add the structured content as text for older clients. */
function repeats(part: unknown, structured: unknown): boolean {
  const { type, text } = fieldsOf(part);
  if (type !== 'text' || typeof text !== 'string') return false;
  try {
    return isDeepStrictEqual(JSON.parse(text), structured);
  } catch {
    return false;
  }
}

function toText(part: unknown): string {
  const { type, text, data, resource, ...fields } = fieldsOf(part);
  if (type === 'text' && typeof text === 'string') return text;
  if ((type === 'image' || type === 'audio') && typeof data === 'string') {
    return `[${type} omitted: ${typeOf(fields)}, ${bytesOf(data)} bytes]`;
  }
  if (type === 'resource_link' && typeof fields['uri'] === 'string') {
    const { uri, name, title, mimeType, description } = fields;
    const details = [title ?? name, mimeType, description].filter((detail) => typeof detail === 'string');
    return `[resource ${uri}: ${details.join(', ')}]`;
  }
  const { uri, text: embedded, blob, ...others } = fieldsOf(resource);
  if (type !== 'resource' || typeof uri !== 'string') return '[unknown content omitted]';
  if (typeof embedded === 'string') return `[resource ${uri}]\n${embedded}`;
  return typeof blob === 'string'
    ? `[resource ${uri} omitted: ${typeOf(others)}, ${bytesOf(blob)} bytes]`
    : '[unknown content omitted]';
}

function typeOf({ mimeType }: Readonly<Record<string, unknown>>): string {
  return typeof mimeType === 'string' ? mimeType : 'unknown type';
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  // Every property of an object may be read as unknown.
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function bytesOf(base64: string): number {
  return Buffer.byteLength(base64, 'base64');
}
