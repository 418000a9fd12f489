import { parseWithoutPrototypes } from '../../hub/events/payload.js';

/** Maximum number of values that are read from one answer: those that are most likely the answer. */
const maxCandidates = 10;

/**
 * Returns the JSON values in an answer, the most likely one first. A model without a JSON mode writes the value into a
 * Markdown block or among its text, after a draft, a reasoning in `<think>`, or a reference such as `[1]`.
 *
 * Order: the whole text; Markdown blocks, the last one first; values in the text, the last one first; references. Text
 * before the last `</think>` is read only if there is nothing behind it. Takes time proportional to the text.
 */
export function readAnswerJson(text: string): readonly unknown[] {
  const whole = parse(text);
  if (whole !== undefined) return [whole.value];
  const reasoningEnd = text.lastIndexOf(thinkEnd);
  const behind = reasoningEnd === -1 ? [] : readValues(text.slice(reasoningEnd + thinkEnd.length));
  return (behind.length > 0 ? behind : readValues(text)).slice(0, maxCandidates);
}

const thinkEnd = '</think>';

/** `[1]` or `[2, 3]`. */
const reference = /^\[[\d\s,]*\]$/;

function readValues(text: string): unknown[] {
  const blocks = blocksOf(text);
  const parts = jsonPartsOf(text).reverse();
  const isReference = (part: string): boolean => reference.test(part);
  const ordered = [...blocks.reverse(), ...parts.filter((part) => !isReference(part)), ...parts.filter(isReference)];
  return [...new Set(ordered)].flatMap((part) => parse(part) ?? []).map(({ value }) => value);
}

function parse(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: parseWithoutPrototypes(text) };
  } catch {
    // The message of the error quotes the answer.
    return undefined;
  }
}

const fence = '```';

/** Returns the contents of the Markdown blocks, without language and title. */
function blocksOf(text: string): string[] {
  const blocks: string[] = [];
  for (let open = text.indexOf(fence); open !== -1; ) {
    const start = text.indexOf('\n', open);
    const close = start === -1 ? -1 : text.indexOf(fence, start);
    if (close === -1) break;
    blocks.push(text.slice(start + 1, close).trim());
    open = text.indexOf(fence, close + fence.length);
  }
  return blocks;
}

/**
 * Returns the outermost parts of the text that have the form of a JSON object or array, in order. The scanner reads
 * tokens, so that brackets in strings do not count; `JSON.parse` has the last word on a part.
 */
function jsonPartsOf(text: string): string[] {
  const parts: string[] = [];
  // Each character is read about twice; a text that needs more is not worth its time.
  let left = 4 * text.length;
  const opening = /[[{]/g;
  for (;;) {
    const start = opening.exec(text)?.index;
    if (start === undefined || left <= 0) return parts;
    const { end, complete } = scan(text, start);
    parts.push(...complete.map(([from, to]) => text.slice(from, to)));
    left -= end - start;
    opening.lastIndex = Math.max(end, start + 1);
  }
}

/** Result of {@link scan}. */
interface Scan {
  /** Index from which to look for the next value. */
  readonly end: number;
  /** Start and end of each value that is complete and not part of another one. */
  readonly complete: readonly (readonly [start: number, end: number])[];
}

// Sticky, so that each matches at the current position only. No alternative can match in two ways.
const token = /\s*(?:([[{])|([\]}])|[,:]|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|-?\d[\d.eE+-]*|true|false|null)/y;

/** Reads tokens from an opening bracket until it is closed, or until there is a character that JSON does not have. */
function scan(text: string, start: number): Scan {
  const open: number[] = [];
  const closed: [start: number, end: number][] = [];
  let last = start;
  token.lastIndex = start;
  for (;;) {
    const from = token.lastIndex;
    const match = token.exec(text);
    // Of a text that is no string, the quote may end another one: what it surrounds is read again.
    if (match === null) return { end: text[last] === '"' ? last + 1 : from, complete: closed };
    const [all, opening, closing] = match;
    const end = token.lastIndex;
    last = end - all.trimStart().length;
    if (opening !== undefined) open.push(end - 1);
    if (closing === undefined) continue;
    const opened = open.pop();
    if (opened === undefined || text[opened] !== partners[closing]) return { end, complete: closed };
    while ((closed.at(-1)?.[0] ?? -1) > opened) closed.pop();
    closed.push([opened, end]);
    if (open.length === 0) return { end, complete: closed };
  }
}

const partners: Readonly<Record<string, string>> = { ']': '[', '}': '{' };
