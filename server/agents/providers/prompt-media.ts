import type { LanguageModelV3, LanguageModelV3Message, LanguageModelV3ToolResultPart } from '@ai-sdk/provider';
import type { Message } from '../model/message.js';
import { isMedia, type MediaPart, type Part } from '../model/part.js';
import { UnsupportedPartError } from '../model/provider-error.js';

type UserPart = Extract<LanguageModelV3Message, { role: 'user' }>['content'][number];
type ToolOutput = LanguageModelV3ToolResultPart['output'];
type Model = Pick<LanguageModelV3, 'provider' | 'modelId' | 'supportedUrls'>;

/** Media types that vendors document. Those of other vendors are checked by their packages. */
const vendorTypes: readonly (readonly [provider: RegExp, types: RegExp])[] = [
  [/^anthropic/, /^(image\/(jpeg|png|gif|webp)|application\/pdf|text\/.+)$/],
  [/^(openai|azure)\./, /^(image\/(jpeg|png|gif|webp)|application\/pdf|audio\/(wav|mp3|mpeg)|text\/.+)$/],
  [/^google/, /^(image\/(jpeg|png|webp|heic|heif)|application\/pdf|(audio|video|text)\/.+)$/],
];

/** Models of OpenAI that read texts only. */
const textModels = /^(gpt-3\.5|gpt-4(-\d|-32k|$)|o1-(mini|preview)|o3-mini|text-|babbage|davinci)/;

/**
 * Returns the messages without the media of tool results that a model cannot take: their content names them. Refuses
 * such media elsewhere.
 *
 * @throws {UnsupportedPartError}
 */
export async function readableMessages(messages: readonly Message[], model: Model): Promise<readonly Message[]> {
  const urls = await model.supportedUrls;
  return messages.map((message) => {
    const { role, parts, ...rest } = message;
    if (parts === undefined) return message;
    if (role === 'tool') {
      const left = parts.filter((part) => !isMedia(part) || wayOutOf(part, model, urls) === undefined);
      return left.some(isMedia) ? { ...message, parts: left } : { role, ...rest };
    }
    for (const part of parts.filter(isMedia)) {
      const wayOut = wayOutOf(part, model, urls);
      if (wayOut !== undefined) throw new UnsupportedPartError(model.provider, part, wayOut);
    }
    return message;
  });
}

/** Returns what to do about a part that a model cannot take; `undefined` for one that it can. */
function wayOutOf(
  { mediaType, url }: MediaPart,
  { provider, modelId }: Model,
  urls: Readonly<Record<string, RegExp[]>>,
): string | undefined {
  const types = vendorTypes.find(([vendor]) => vendor.test(provider))?.[1];
  if (types?.test(mediaType) === false) return 'convert it to another format';
  if (url !== undefined && !takesUrl(url, mediaType, provider, urls)) {
    return 'the vendor does not read this address: pass the data';
  }
  const isRead = !provider.startsWith('openai.') || opensOnOpenAI(mediaType, provider, modelId);
  return isRead ? undefined : `${modelId} cannot read it: choose another model`;
}

function opensOnOpenAI(mediaType: string, provider: string, modelId: string): boolean {
  if (mediaType.startsWith('text/')) return true;
  const hears = modelId.includes('audio');
  if (mediaType.startsWith('audio/')) return hears && provider === 'openai.chat';
  return !hears && !textModels.test(modelId);
}

function takesUrl(url: string, mediaType: string, provider: string, urls: Readonly<Record<string, RegExp[]>>): boolean {
  // Servers that speak OpenAI's Chat Completions take the address of an image, which the package does not know of.
  if (mediaType.startsWith('image/') && !isOtherFormat.test(provider) && /^https?:/.test(url)) return true;
  const [kind = ''] = mediaType.split('/');
  const patterns = [mediaType, `${kind}/*`, '*', '*/*'].flatMap((type) => urls[type] ?? []);
  return patterns.some((pattern) => pattern.test(url));
}

// Packages whose `supportedUrls` is complete.
const isOtherFormat = /anthropic|google|vertex|bedrock|mistral/;

/** Returns the error of a package about a part that it cannot convert, and any other error unchanged. */
export function toMediaError(error: unknown, messages: readonly Message[], provider: string): unknown {
  if (!(error instanceof Error) || error.name !== 'AI_UnsupportedFunctionalityError') return error;
  // The package names the media type, and no other text of the part.
  const media = messages.flatMap(({ parts = [] }) => parts.filter(isMedia));
  const part = media.find(({ mediaType }) => error.message.includes(mediaType)) ?? media[0];
  return part === undefined ? error : new UnsupportedPartError(provider, part, 'convert it to another format');
}

/** Returns the content of a user message with media in the form of a vendor. */
export function toUserParts(parts: readonly Part[], provider: string): UserPart[] {
  return parts.map((part) => (isMedia(part) ? toUserPart(part, provider) : { type: 'text', text: part.text }));
}

function toUserPart(part: MediaPart, provider: string): UserPart {
  const { mediaType, filename, data, url } = part;
  const file = { type: 'file', ...(filename !== undefined && { filename }) } as const;
  if (data === undefined) return { ...file, mediaType, data: new URL(url) };
  if (!mediaType.startsWith('text/') || provider.startsWith('google')) return { ...file, mediaType, data };
  // Anthropic has documents of plain text, whatever their syntax is; other vendors have none.
  return provider.includes('anthropic') ? { ...file, mediaType: 'text/plain', data } : toText(part, data);
}

function toText({ filename = 'file' }: MediaPart, data: string): UserPart {
  return { type: 'text', text: `[${filename}]\n${Buffer.from(data, 'base64').toString()}` };
}

/** Media types of tool results in the form of each vendor whose results can have media. */
const resultTypes: readonly (readonly [provider: RegExp, types: RegExp])[] = [
  [/^anthropic/, /^(image\/.+|application\/pdf)$/],
  [/^(openai|azure)\.responses/, /^(image\/.+|application\/pdf)$/],
  [/^google/, /^(image\/(jpeg|png|webp)|application\/pdf)$/],
];

/** Result of a tool in the form of a vendor. */
export interface SplitResult {
  readonly output: ToolOutput;
  /** Media that the vendor takes in a user message after the results only. */
  readonly rest: readonly MediaPart[];
}

/** Returns the result of a tool with media in the form of a vendor. */
export function splitResult({ content, parts = [] }: Message, provider: string): SplitResult {
  const types = resultTypes.find(([vendor]) => vendor.test(provider))?.[1];
  const isWithin = ({ mediaType, data }: MediaPart): boolean =>
    types?.test(mediaType) === true && (data !== undefined || provider.startsWith('anthropic'));
  const media = parts.filter(isMedia);
  const within = media.filter(isWithin);
  const rest = media.filter((part) => !isWithin(part));
  if (within.length === 0) return { output: { type: 'text', value: content }, rest };
  const value = [{ type: 'text' as const, text: content }, ...within.map(toResultPart)];
  return { output: { type: 'content', value }, rest };
}

function toResultPart({
  mediaType,
  filename = 'file.pdf',
  data,
  url,
}: MediaPart): Extract<ToolOutput, { type: 'content' }>['value'][number] {
  const isImage = mediaType.startsWith('image/');
  if (data !== undefined)
    return isImage ? { type: 'image-data', data, mediaType } : { type: 'file-data', data, mediaType, filename };
  return { type: isImage ? 'image-url' : 'file-url', url };
}
