import { InvalidAnswerError } from '../errors.js';
import { isRecord } from './foreign-values.js';
import type { ToolCall } from './message.js';

/** Source of an answer: a page or a document that the vendor found, or that a part of the answer cites. */
export type Source = {
  readonly id: string;
  readonly title?: string;
  /** Text of the source that the answer cites, if the vendor reports it. */
  readonly citedText?: string;
} & (
  | { readonly type: 'url'; readonly url: string }
  | { readonly type: 'document'; readonly mediaType: string; readonly filename?: string }
);

/** Call of a tool that the vendor runs, such as its web search: nothing executes it in this process. */
export interface VendorCall extends ToolCall {
  /** Vendor's name of the tool, such as `web_search`. */
  name: string;
  /** JSON that the tool returned, without what only the vendor can read. Absent while the tool runs. */
  result?: unknown;
  /** `true` if the tool failed. `result` is then the error. */
  isError?: true;
}

/** Validates the sources of an answer. @throws {InvalidAnswerError} */
export function readSources(sources: unknown): readonly Source[] {
  if (!Array.isArray(sources)) throw new InvalidAnswerError('sources that are an array', sources);
  return sources.map((source: unknown): Source => {
    if (!isRecord(source)) throw new InvalidAnswerError('sources that are objects', source);
    const { id, type, title, citedText, url, mediaType, filename } = source;
    const texts = { id: id ?? '', ...(type === 'url' ? { url } : { mediaType }) };
    for (const [name, value] of Object.entries({ ...texts, title, citedText, filename })) {
      const isText = typeof value === 'string' || (value === undefined && !(name in texts));
      if (!isText) throw new InvalidAnswerError(`a source with a string for its ${name}`, value);
    }
    if (type !== 'url' && type !== 'document') {
      throw new InvalidAnswerError('a source of type "url" or "document"', type);
    }
    // Checked above.
    return source as Source;
  });
}

/** Collects the calls that vendors ran: a later state of a call takes the place of an earlier one. */
export function addVendorCalls(calls: VendorCall[], added: readonly VendorCall[]): void {
  for (const call of added) {
    const index = call.id === '' ? -1 : calls.findIndex(({ id }) => id === call.id);
    if (index === -1) calls.push(call);
    else calls[index] = call;
  }
}

/** Adds sources that are not there yet. */
export function addSources(sources: Source[], added: readonly Source[]): void {
  const known = new Set(sources.map(keyOf));
  for (const source of added) {
    const key = keyOf(source);
    if (!known.has(key)) sources.push(source);
    known.add(key);
  }
}

function keyOf(source: Source): string {
  const { citedText } = source;
  return JSON.stringify(
    source.type === 'url' ? [source.url, citedText] : [source.title, source.filename, source.mediaType, citedText],
  );
}
