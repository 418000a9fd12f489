import { InvalidOptionError, quote } from '../../errors.js';
import { isRecord } from './foreign-values.js';

/** Text of a message. */
export interface TextPart {
  type: 'text';
  text: string;
}

/** Fields that images, audio and files have. */
export interface MediaFields {
  /** `image` and `audio` for a model that sees and hears; `file` for a PDF, a text, a video ... */
  type: 'image' | 'file' | 'audio';
  /** Media type in lower case and without parameters, such as `image/png`. */
  mediaType: string;
  /** Name that the model is shown, if its vendor takes one. */
  filename?: string;
}

/** Image, audio or file of a message: its bytes as base64, or an address that the vendor itself reads. */
export type MediaPart = MediaFields & ({ data: string; url?: never } | { url: string; data?: never });

/** Part of a message. */
export type Part = TextPart | MediaPart;

/**
 * Part of an input or of a tool's result: a {@link Part}, or an image, audio or file as bytes or as a `Blob` or `File`,
 * whose `type` is then the default of `mediaType`. A `data:` URL becomes `data`.
 */
export type InputPart =
  | Part
  | (MediaFields & { data: Uint8Array; url?: never; blob?: never })
  | (Omit<MediaFields, 'mediaType'> & { mediaType?: string; blob: Blob; data?: never; url?: never });

/** Checked part whose bytes are still to be read. */
interface BlobPart extends MediaFields {
  readonly blob: Blob;
}

/** Part of an input that was checked. */
export type CheckedPart = Part | BlobPart;

/** Maximum number of characters of base64 of the parts of one input: about as much as one request may have. */
const maxInputChars = 33_554_432;
/** The same of one tool result, which has to fit into the record of a durable run. */
const maxResultChars = 12_582_912;

const resultKey: unique symbol = Symbol.for('hubline.media-result');

/**
 * Result of a tool with images, audio or files for the model. The `result` of the call is a text: that of the parts,
 * with a line per medium. All parts are its `parts`.
 *
 * @example
 * execute: async ({ page }) => new MediaResult([
 *   { type: 'text', text: `Page ${page}` },
 *   { type: 'image', data: await render(page), mediaType: 'image/png' },
 * ])
 */
export class MediaResult {
  readonly parts: readonly InputPart[];

  constructor(parts: readonly InputPart[]) {
    this.parts = parts;
    // Two copies of the package in one process understand each other.
    Object.defineProperty(this, resultKey, { value: true });
  }

  /** Returns `true` for a result with media of any copy of the package. */
  static is(value: unknown): value is MediaResult {
    return typeof value === 'object' && value !== null && Reflect.get(value, resultKey) === true;
  }
}

/** Reads the parts of a tool's result. @throws {InvalidOptionError} */
export async function readResult({ parts }: MediaResult, tool: string): Promise<string | Part[]> {
  const owner = `result of tool ${quote(tool)}`;
  if (!Array.isArray(parts)) throw new InvalidOptionError(owner, 'a MediaResult with a list of parts', typeof parts);
  const checked = checkParts(parts, owner, maxResultChars);
  return typeof checked === 'string' ? checked : loadParts(checked);
}

/**
 * Checks the parts of an input or of a tool's result. Returns their text if they are texts only.
 *
 * @param owner owner of the parts in messages
 * @throws {InvalidOptionError}
 */
export function checkParts(
  parts: readonly unknown[],
  owner: string,
  maxChars: number = maxInputChars,
): string | readonly CheckedPart[] {
  if (parts.length === 0) throw new InvalidOptionError(owner, 'a string or a list of at least one part', parts);
  const checked = parts.map((part, index) => checkPart(part, `part ${index + 1} of ${owner}`));
  const chars = checked.reduce((sum, part) => sum + dataCharsOf(part), 0);
  if (chars > maxChars) {
    const expected = `parts of at most ${maxChars} characters of base64 together; pass an url`;
    throw new InvalidOptionError(owner, expected, `${chars} characters`);
  }
  return checked.every(isText) ? textOf(checked) : checked;
}

/** Returns media of a foreign value with its bytes; `undefined` if it has another form. */
export function readMedia(value: unknown): MediaPart | undefined {
  try {
    const part = checkPart(value, 'a part');
    return part.type === 'text' || 'blob' in part ? undefined : part;
  } catch {
    return undefined;
  }
}

/** Reads the blobs of checked parts. */
export async function loadParts(parts: readonly CheckedPart[]): Promise<Part[]> {
  return Promise.all(
    parts.map(async (part) => {
      if (!('blob' in part)) return part;
      const { blob, ...fields } = part;
      return { ...fields, data: Buffer.from(await blob.arrayBuffer()).toString('base64') };
    }),
  );
}

/** Returns the content of a message with these parts: their texts. */
export function textOf(parts: readonly CheckedPart[]): string {
  return parts.flatMap((part) => (part.type === 'text' ? part.text : [])).join('\n\n');
}

/** Returns the content of a tool message with these parts: their texts, and a line for each medium. */
export function describeParts(parts: readonly Part[]): string {
  return parts.map((part) => (isMedia(part) ? describeMedia(part) : part.text)).join('\n');
}

function describeMedia({ type, mediaType, filename, data }: MediaPart): string {
  const size = data === undefined ? 'at an address' : `${Buffer.byteLength(data, 'base64')} bytes`;
  return `[${[type, ...(filename === undefined ? [] : [filename])].join(' ')}: ${mediaType}, ${size}]`;
}

/** Returns `true` for a value in the form of a list of stored parts. A list without media is none. */
export function isPartList(value: unknown): value is Part[] {
  return Array.isArray(value) && value.every(isPart) && !value.every(isText);
}

function isPart(value: unknown): value is Part {
  if (!isRecord(value)) return false;
  const { type, text, mediaType, filename, data, url } = value;
  if (type === 'text') return typeof text === 'string';
  const isName = filename === undefined || typeof filename === 'string';
  const isSource = typeof data === 'string' ? url === undefined : data === undefined && typeof url === 'string';
  return kinds.includes(type) && typeof mediaType === 'string' && mediaForm.test(mediaType) && isName && isSource;
}

/** Returns `true` for an image, audio or a file. */
export function isMedia(part: Part): part is MediaPart {
  return part.type !== 'text';
}

function isText(part: CheckedPart): part is TextPart {
  return part.type === 'text';
}

const kinds: readonly unknown[] = ['image', 'file', 'audio'];
const mediaForm = /^[a-z]+\/[a-z0-9][a-z0-9.+-]*$/;

// A value that may be somebody's content is not quoted: its type is.
function checkPart(part: unknown, owner: string): CheckedPart {
  if (!isRecord(part)) throw new InvalidOptionError(owner, 'an object such as { type: "text", text }', typeof part);
  const { type, text, filename, data, url, blob, mediaType = isBlob(blob) ? blob.type : undefined, ...rest } = part;
  const unknown = Object.keys(rest)[0];
  if (unknown !== undefined) {
    throw new InvalidOptionError(
      `field of ${owner}`,
      'one of type, text, mediaType, filename, data, url, blob',
      unknown,
    );
  }
  if (type === 'text') {
    if (typeof text !== 'string') throw new InvalidOptionError(`text of ${owner}`, 'a string', typeof text);
    return { type, text: text.toWellFormed() };
  }
  if (type !== 'image' && type !== 'file' && type !== 'audio') {
    throw new InvalidOptionError(`type of ${owner}`, '"text", "image", "file" or "audio"', type);
  }
  if (filename !== undefined && typeof filename !== 'string') {
    throw new InvalidOptionError(`filename of ${owner}`, 'a string', typeof filename);
  }
  const fields: MediaFields = {
    type,
    mediaType: checkMediaType(type, mediaType, owner),
    ...(filename !== undefined && { filename: filename.toWellFormed() }),
  };
  if ([data, url, blob].filter((source) => source !== undefined).length !== 1) {
    throw new InvalidOptionError(owner, 'given exactly one of data, url and blob', Object.keys(part).join(', '));
  }
  if (url !== undefined) return { ...fields, ...checkUrl(url, owner) };
  if (data !== undefined) return { ...fields, data: checkData(data, owner) };
  if (!isBlob(blob)) throw new InvalidOptionError(`blob of ${owner}`, 'a Blob or a File', typeof blob);
  return { ...fields, blob };
}

function checkMediaType(type: MediaPart['type'], mediaType: unknown, owner: string): string {
  // A `File` of a browser may carry parameters, such as a charset.
  const [found = ''] = typeof mediaType === 'string' ? mediaType.toLowerCase().split(';') : [];
  const isKind = type === 'file' || found.trim().startsWith(`${type}/`);
  if (!isKind || !mediaForm.test(found.trim())) {
    const example = type === 'file' ? 'application/pdf' : `${type}/${type === 'image' ? 'png' : 'wav'}`;
    throw new InvalidOptionError(`mediaType of ${owner}`, `a media type such as ${example}`, mediaType);
  }
  return found.trim();
}

function checkData(data: unknown, owner: string): string {
  if (data instanceof Uint8Array) return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64');
  if (typeof data === 'string' && data !== '' && isBase64(data)) return data;
  const expected = 'bytes, or base64 without line breaks; pass a data: URL as url';
  throw new InvalidOptionError(`data of ${owner}`, expected, typeof data);
}

/** Looks for a character that must not occur: a pattern of the whole text would need a stack as long as it. */
function isBase64(text: string): boolean {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return text.length % 4 === 0 && !/[^A-Za-z0-9+/]/.test(padding === 0 ? text : text.slice(0, -padding));
}

function checkUrl(url: unknown, owner: string): { url: string } | { data: string } {
  if (typeof url !== 'string' || !URL.canParse(url)) {
    throw new InvalidOptionError(`url of ${owner}`, 'an absolute URL', typeof url);
  }
  if (!url.toLowerCase().startsWith('data:')) return { url };
  const comma = url.indexOf(',');
  const body = url.slice(comma + 1);
  if (/;base64$/i.test(url.slice(0, comma))) return { data: checkData(body, owner) };
  return { data: Buffer.from(decodeText(body, owner)).toString('base64') };
}

function decodeText(body: string, owner: string): string {
  try {
    return decodeURIComponent(body);
  } catch {
    throw new InvalidOptionError(`url of ${owner}`, 'a data: URL with escapes of UTF-8', 'other escapes');
  }
}

// Not instanceof: the Blob may be that of a browser's environment in tests.
function isBlob(value: unknown): value is Blob {
  if (typeof value !== 'object' || value === null) return false;
  const { arrayBuffer, size, type }: { [Key in keyof Blob]?: unknown } = value;
  return typeof arrayBuffer === 'function' && typeof size === 'number' && typeof type === 'string';
}

/** Returns the number of characters of base64 of a part: 0 for a text and an address. */
export function dataCharsOf(part: CheckedPart): number {
  if ('blob' in part) return Math.ceil(part.blob.size / 3) * 4;
  return part.type === 'text' ? 0 : (part.data?.length ?? 0);
}

/** Tokens of an image at the highest resolution that vendors read, and of a page of a PDF. */
const imageTokens = 1_600;
/** Bytes of a compressed page, and of compressed sound, per token. */
const bytesPerTokenOf = { page: 40, sound: 500, text: 4 };

/** Estimates the tokens of media: an address counts as one image or page, because its size is unknown. */
export function estimateMediaTokens(parts: readonly Part[]): number {
  return parts.reduce((tokens, part) => tokens + (isMedia(part) ? estimateMedia(part) : 0), 0);
}

function estimateMedia({ mediaType, data }: MediaPart): number {
  if (data === undefined || mediaType.startsWith('image/')) return imageTokens;
  const bytes = (data.length / 4) * 3;
  if (mediaType.startsWith('text/')) return Math.ceil(bytes / bytesPerTokenOf.text);
  if (/^(audio|video)\//.test(mediaType)) return Math.ceil(bytes / bytesPerTokenOf.sound);
  return Math.max(imageTokens, Math.ceil(bytes / bytesPerTokenOf.page));
}
