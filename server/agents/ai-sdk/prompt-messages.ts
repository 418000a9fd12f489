import type {
  LanguageModelV3DataContent,
  LanguageModelV3Message,
  LanguageModelV3Prompt,
  LanguageModelV3ToolResultOutput,
  SharedV3ProviderOptions,
} from '@ai-sdk/provider';
import { recordOf } from '../model/foreign-values.js';
import type { Message, ToolCall } from '../model/message.js';
import { describeParts, isMedia, type Part, textOf } from '../model/part.js';
import { toErrorContent } from '../tools/tool-executor.js';

/** Key of what the AI SDK keeps for us beside the parts of a message. */
export const metadataKey = 'hubline';

type UserPart = Extract<LanguageModelV3Message, { role: 'user' }>['content'][number];
type AssistantPart = Extract<LanguageModelV3Message, { role: 'assistant' }>['content'][number];
type OutputPart = Extract<LanguageModelV3ToolResultOutput, { type: 'content' }>['value'][number];

/**
 * Converts a prompt of the AI SDK to messages. Reasoning of an assistant is left out: a message has what its vendor
 * expects back in its metadata.
 *
 * @param onUnreadable receives the type of each part that messages cannot have, and which is left out
 */
export function toMessages(prompt: LanguageModelV3Prompt, onUnreadable: (type: string) => void = () => {}): Message[] {
  return prompt.flatMap((message): Message[] => {
    switch (message.role) {
      case 'system':
        return [{ role: 'system', content: message.content }];
      case 'user':
        return [withParts('user', message.content.map(toPart))];
      case 'assistant':
        return [toAssistant(message.content, onUnreadable)];
      default:
        return message.content.flatMap((part): Message[] => {
          if (part.type === 'tool-result') return [toResult(part.toolCallId, part.output, onUnreadable)];
          onUnreadable(part.type);
          return [];
        });
    }
  });
}

function withParts(role: 'user', parts: Part[]): Message {
  const content = textOf(parts);
  return parts.some(isMedia) ? { role, content, parts } : { role, content };
}

function toPart(part: UserPart): Part {
  return part.type === 'text' ? { type: 'text', text: part.text } : toMedia(part.mediaType, part.data, part.filename);
}

function toMedia(mediaType: string, data: LanguageModelV3DataContent, filename?: string): Part {
  const [kind] = mediaType.split('/');
  const type = kind === 'image' || kind === 'audio' ? kind : 'file';
  const fields = { type, mediaType, ...(filename !== undefined && { filename }) } as const;
  if (data instanceof URL) return { ...fields, url: data.href };
  return { ...fields, data: typeof data === 'string' ? data : Buffer.from(data).toString('base64') };
}

function toAssistant(parts: readonly AssistantPart[], onUnreadable: (type: string) => void): Message {
  let content = '';
  const toolCalls: ToolCall[] = [];
  const unread: string[] = [];
  let metadata: Record<string, unknown> | undefined;
  for (const part of parts) {
    metadata ??= metadataOf(part.providerOptions);
    if (part.type === 'text') content += part.text;
    else if (part.type === 'tool-call' && part.providerExecuted !== true) {
      const { toolCallId: id, toolName: name, input } = part;
      toolCalls.push({ id, name, arguments: JSON.stringify(input ?? {}) });
    } else if (part.type !== 'reasoning') unread.push(part.type);
  }
  // The metadata have what the vendor expects back of its own tools.
  if (metadata === undefined) for (const type of unread) onUnreadable(type);
  return {
    role: 'assistant',
    content,
    ...(toolCalls.length > 0 && { toolCalls }),
    ...(metadata && { providerMetadata: metadata }),
  };
}

function metadataOf(options: SharedV3ProviderOptions | undefined): Record<string, unknown> | undefined {
  const metadata = recordOf(options?.[metadataKey])['message'];
  return metadata === undefined ? undefined : { ...recordOf(metadata) };
}

function toResult(
  toolCallId: string,
  output: LanguageModelV3ToolResultOutput,
  onUnreadable: (type: string) => void,
): Message {
  const message = (content: string): Message => ({ role: 'tool', toolCallId, content });
  switch (output.type) {
    case 'text':
      return message(output.value);
    case 'json':
      return message(JSON.stringify(output.value));
    case 'error-text':
      return message(toErrorContent(output.value));
    case 'error-json':
      return message(toErrorContent(JSON.stringify(output.value)));
    case 'execution-denied':
      return message(toErrorContent(output.reason ?? 'the call was denied'));
    default: {
      const parts = output.value.flatMap((part) => toResultPart(part, onUnreadable));
      return { ...message(describeParts(parts)), ...(parts.some(isMedia) && { parts }) };
    }
  }
}

function toResultPart(part: OutputPart, onUnreadable: (type: string) => void): Part[] {
  switch (part.type) {
    case 'text':
      return [{ type: 'text', text: part.text }];
    case 'file-data':
    case 'image-data':
      return [toMedia(part.mediaType, part.data, 'filename' in part ? part.filename : undefined)];
    case 'image-url':
      return [toMedia('image/*', new URL(part.url))];
    case 'file-url':
      return [toMedia(part.mediaType ?? 'application/octet-stream', new URL(part.url))];
    default:
      onUnreadable(part.type);
      return [];
  }
}
