import { InvalidOptionError } from '../../errors.js';
import { isRecord } from '../model/foreign-values.js';
import { checkParts, type InputPart } from '../model/part.js';

/**
 * Returns the input of a run for a user's message of the AI SDK's UI, as `useChat` posts it: a text, or parts if the
 * message has files. Other parts are left out. A browser may send anything: the parts are checked.
 *
 * @example
 * const { messages } = await request.json();
 * return toUIMessageResponse(agent.stream(fromUIMessage(messages.at(-1))));
 *
 * @throws {InvalidOptionError} if the message has neither a text nor a file, or one in another form
 */
export function fromUIMessage(message: unknown): string | InputPart[] {
  const owner = 'message of fromUIMessage';
  const parts = isRecord(message) ? message['parts'] : undefined;
  if (!Array.isArray(parts)) throw new InvalidOptionError(owner, 'an object with a list of parts', typeof message);
  const read = parts.flatMap(toInputPart);
  if (read.length === 0) throw new InvalidOptionError(owner, 'given a part that is a text or a file', 'none');
  checkParts(read, owner);
  // Checked: they have the form of an input's parts.
  const checked = read as InputPart[];
  if (checked.some(({ type }) => type !== 'text')) return checked;
  return checked.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

function toInputPart(part: unknown): unknown[] {
  if (!isRecord(part)) return [];
  const { type, text, mediaType, url, filename } = part;
  if (type === 'text') return [{ type, text }];
  if (type !== 'file') return [];
  const [kind] = typeof mediaType === 'string' ? mediaType.toLowerCase().split('/') : [];
  return [{ type: kind === 'image' || kind === 'audio' ? kind : 'file', mediaType, url, filename }];
}
