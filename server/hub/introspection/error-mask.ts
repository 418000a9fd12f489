import type { ErrorInfo } from '../../errors.js';
import { nodeCrypto } from '../../transports/derived-ids.js';

const maxLength = 256;
const maxRead = 1_024;
// A quote that opens follows the start, a space or an opening sign: that of "can't" does not.
const quoted = /(^|[\s([{=:,])(["'`“‘])([^"'`“”‘’\n]*)(["'`”’])(?=$|[\s)\]}.,:;!?])/g;
const word = /[\w@.+-]+/g;
const uuid = /[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}/gi;
const number = /\d+(?:[.,:]\d+)*/g;
// From this length on, a word of letters and digits is an id; a shorter one may be `utf8` or `eu1`.
const leastId = 6;
const leastMixedCase = 12;

/**
 * Returns a message without the parts in which messages of one error differ: quoted texts are `"…"`, and numbers, ids and
 * addresses `#`. Of a longer message it reads the first 1,024 characters.
 */
export function maskMessage(message: string): string {
  const masked = message
    .slice(0, maxRead)
    .replace(quoted, '$1"…"')
    .replace(uuid, '#')
    .replace(word, maskWord)
    .replace(number, '#');
  return masked.length > maxLength ? `${masked.slice(0, maxLength - 1)}…` : masked;
}

function maskWord(text: string): string {
  const [, body = '', end = ''] = /^(.*?)([.-]*)$/.exec(text) ?? [];
  if (/.@./.test(body)) return `#${end}`;
  if (!/\d/.test(body)) return text;
  const isMixed = body.length >= leastMixedCase && /[a-z]/.test(body) && /[A-Z]/.test(body);
  if (isMixed) return `#${end}`;
  return body.replace(/[A-Za-z\d]+/g, maskPart) + end;
}

function maskPart(part: string): string {
  return /\d/.test(part) && /[A-Za-z]/.test(part) && part.length >= leastId ? '#' : part;
}

/** Error of a group, with the id of the group: the same in every process and store. */
export interface GroupedError {
  readonly id: string;
  readonly name: string;
  /** Masked. */
  readonly message: string;
}

/** Returns the group of an error of a type. */
export function groupOfError(type: string, { name, message }: Pick<ErrorInfo, 'name' | 'message'>): GroupedError {
  const masked = maskMessage(message);
  const digest = nodeCrypto()
    .createHash('sha1')
    .update(JSON.stringify([type, name, masked]));
  return { id: digest.digest('hex').slice(0, 12), name, message: masked };
}
