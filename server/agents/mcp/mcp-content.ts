import { isDeepStrictEqual } from 'node:util';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';

type Content = CallToolResult['content'][number];

/**
 * Converts the result of a call into the value that the model receives: the structured content if the text only repeats
 * it, else the texts, each on lines of its own. Binary content becomes a note.
 */
export function toModelResult({ content, structuredContent }: CallToolResult): unknown {
  if (structuredContent === undefined) return content.map(toText).join('\n');
  const others = content.filter((part) => !repeats(part, structuredContent));
  if (others.length === 0) return structuredContent;
  return [...others.map(toText), JSON.stringify(structuredContent)].join('\n');
}

/** Returns the texts of a failed call. */
export function toErrorText({ content }: CallToolResult): string {
  return content.map(toText).join('\n');
}

/** Servers add the structured content as text for older clients. */
function repeats(part: Content, structured: Record<string, unknown>): boolean {
  if (part.type !== 'text') return false;
  try {
    return isDeepStrictEqual(JSON.parse(part.text), structured);
  } catch {
    return false;
  }
}

function toText(part: Content): string {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'image':
    case 'audio':
      return `[${part.type} omitted: ${part.mimeType}, ${bytesOf(part.data)} bytes]`;
    case 'resource_link': {
      const details = [part.title ?? part.name, part.mimeType, part.description].filter((text) => text !== undefined);
      return `[resource ${part.uri}: ${details.join(', ')}]`;
    }
    case 'resource': {
      const { resource } = part;
      if ('text' in resource) return `[resource ${resource.uri}]\n${resource.text}`;
      const type = resource.mimeType ?? 'unknown type';
      return `[resource ${resource.uri} omitted: ${type}, ${bytesOf(resource.blob)} bytes]`;
    }
  }
}

function bytesOf(base64: string): number {
  return Buffer.byteLength(base64, 'base64');
}
