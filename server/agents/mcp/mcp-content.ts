import { isDeepStrictEqual } from 'node:util';
import { hasMoreSubschemas } from '../../json-schema.js';
import { isRecord, recordOf } from '../model/foreign-values.js';
import { describeParts, isMedia, MediaResult, type Part, readMedia } from '../model/part.js';

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
 * it, else the texts, each on lines of its own, with images, audio and the bytes of resources as media.
 */
export function toModelResult({ content, structured }: ToolAnswer): unknown {
  const others = structured === undefined ? content : content.filter((part) => !repeats(part, structured));
  if (others.length === 0 && structured !== undefined) return structured;
  const parts = others.map(toPart);
  if (structured !== undefined) parts.push({ type: 'text', text: JSON.stringify(structured) });
  return parts.some(isMedia) ? new MediaResult(parts) : describeParts(parts);
}

/** Returns the text of a failed call. */
export function toErrorText(answer: ToolAnswer): string {
  const result = toModelResult(answer);
  // The error of a call is a text.
  if (MediaResult.is(result)) return describeParts(answer.content.map(toPart));
  return typeof result === 'string' ? result : JSON.stringify(result);
}

/** Servers add the structured content as text for older clients. */
function repeats(part: unknown, structured: unknown): boolean {
  const { type, text } = recordOf(part);
  if (type !== 'text' || typeof text !== 'string') return false;
  try {
    return isDeepStrictEqual(JSON.parse(text), structured);
  } catch {
    return false;
  }
}

/** Converts one content of a server. */
export function toPart(part: unknown): Part {
  return readMedia(mediaOf(recordOf(part))) ?? { type: 'text', text: toText(part) };
}

/** Returns the media of a part in the form of an input. */
function mediaOf({ type, data, mimeType, resource }: Readonly<Record<string, unknown>>): unknown {
  if (type === 'image' || type === 'audio') return { type, data, mediaType: mimeType };
  const { uri, blob, mimeType: mediaType } = recordOf(resource);
  if (type !== 'resource' || typeof uri !== 'string' || blob === undefined) return undefined;
  const isImage = typeof mediaType === 'string' && mediaType.startsWith('image/');
  return { type: isImage ? 'image' : 'file', data: blob, mediaType, filename: uri };
}

function toText(part: unknown): string {
  const { type, text, data, resource, ...fields } = recordOf(part);
  if (type === 'text' && typeof text === 'string') return text;
  if ((type === 'image' || type === 'audio') && typeof data === 'string') {
    return `[${type} omitted: ${typeOf(fields)}, ${bytesOf(data)} bytes]`;
  }
  if (type === 'resource_link' && typeof fields['uri'] === 'string') {
    const { uri, name, title, mimeType, description } = fields;
    const details = [title ?? name, mimeType, description].filter((detail) => typeof detail === 'string');
    return `[resource ${uri}: ${details.join(', ')}]`;
  }
  const { uri, text: embedded, blob, ...others } = recordOf(resource);
  if (type !== 'resource' || typeof uri !== 'string') return '[unknown content omitted]';
  if (typeof embedded === 'string') return `[resource ${uri}]\n${embedded}`;
  return typeof blob === 'string'
    ? `[resource ${uri} omitted: ${typeOf(others)}, ${bytesOf(blob)} bytes]`
    : '[unknown content omitted]';
}

function typeOf({ mimeType }: Readonly<Record<string, unknown>>): string {
  return typeof mimeType === 'string' ? mimeType : 'unknown type';
}

function bytesOf(base64: string): number {
  return Buffer.byteLength(base64, 'base64');
}

/** Tool as its server describes it. */
export interface ServerTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** The tool declares itself read-only or idempotent. */
  readonly isRepeatable: boolean;
  /** Description as JSON, to find out if it changed. */
  readonly json: string;
}

/** Limits of a list of tools. */
interface ListLimits {
  /** Names of the tools to read. */
  readonly allow: ReadonlySet<string> | undefined;
  readonly maxTools: number;
  /** Maximum number of characters of all tools. */
  readonly maxChars: number;
  /** Maximum number of characters of one tool. */
  readonly maxToolChars: number;
  /** Maximum number of objects in the schema of one tool. */
  readonly maxSubschemas: number;
}

/** List of tools as read. */
export interface ReadTools {
  readonly tools: readonly ServerTool[];
  /** Number of tools that were left out. */
  readonly omitted: number;
}

/** Reads the tools that a server listed. Leaves out those that have another form, cannot be called or exceed a limit. */
export function readTools(
  listed: readonly unknown[],
  { allow, maxTools, maxChars, maxToolChars, maxSubschemas }: ListLimits,
): ReadTools {
  const tools: ServerTool[] = [];
  let omitted = 0;
  let chars = 0;
  for (const described of listed) {
    const { name, execution } = recordOf(described);
    if (allow !== undefined && !(typeof name === 'string' && allow.has(name))) continue;
    // Few servers have tools that need tasks, and none of them expects every client to call those.
    if (recordOf(execution)['taskSupport'] === 'required') continue;
    const tool = tools.length < maxTools ? readTool(described) : undefined;
    const isOversized = (found: ServerTool): boolean =>
      found.json.length > Math.min(maxToolChars, maxChars - chars) ||
      hasMoreSubschemas(found.inputSchema, maxSubschemas);
    if (tool === undefined || isOversized(tool)) {
      omitted += 1;
    } else {
      chars += tool.json.length;
      tools.push(tool);
    }
  }
  return { tools, omitted };
}

function readTool(described: unknown): ServerTool | undefined {
  const { name, title, description, inputSchema, annotations } = recordOf(described);
  const { type = 'object', ...schema } = recordOf(inputSchema);
  if (typeof name !== 'string' || name === '' || type !== 'object' || !isRecord(inputSchema)) return undefined;
  const { readOnlyHint, idempotentHint } = recordOf(annotations);
  const tool = {
    name,
    description: [description, title].find((text) => typeof text === 'string') ?? '',
    // Vendors require both fields.
    inputSchema: { type, properties: {}, ...schema },
    isRepeatable: readOnlyHint === true || idempotentHint === true,
  };
  const json = jsonOf(tool);
  return json === undefined ? undefined : { ...tool, json };
}

/** Returns the JSON of a value, or `undefined` if it is deeper than the stack. */
export function jsonOf(value: object): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
