import { shortenable } from '../hub/events/payload.js';
import type { AgentHandlerResult } from './agent/agent.js';
import { cutText } from './model/foreign-values.js';

/** Share of the room that the report on tool calls may take if the answer has to be cut. */
const reportShare = 0.25;

/** Returns a result that is cut if a payload has no room for it. */
export function shortenableResult<T extends AgentHandlerResult>(result: T): T {
  return shortenable(result, shortenResult);
}

/** Returns results by step name of which the longest are cut if a payload has no room for all. */
export function shortenableResults<T extends Readonly<Record<string, AgentHandlerResult>>>(results: T): T {
  return shortenable(results, shortenResults);
}

/**
 * Cuts the answer, leaves out its sources and the calls of the vendor, and the oldest tool calls if they need more than a
 * quarter of the room. Never changes
 * `data`: half of a value is none.
 */
function shortenResult<T extends AgentHandlerResult>(whole: T, maxBytes: number): T {
  // The record of the run has them.
  const { sources: _sources, vendorCalls: _calls, ...rest } = whole;
  const result = rest as T; // Without optional fields.
  const { output, toolCalls, omittedChars = 0 } = result;
  const room = maxBytes - leastBytes(result);
  if (room < 0) return result;
  const keptCalls = newestWithin(toolCalls, room * reportShare);
  const left = room - (jsonBytes(keptCalls) - jsonBytes([])) + jsonBytes('');
  const cut = cutToBytes(output, left, omittedChars);
  return {
    ...result,
    output: cut.text,
    toolCalls: keptCalls,
    ...(cut.omittedChars > 0 && { omittedChars: cut.omittedChars }),
  };
}

function shortenResults(
  results: Readonly<Record<string, AgentHandlerResult>>,
  maxBytes: number,
): Record<string, AgentHandlerResult> {
  const entries = Object.entries(results);
  const names = jsonBytes(Object.fromEntries(entries.map(([name]) => [name, 0]))) - entries.length;
  const parts = entries.map(([, result]) => ({ bytes: jsonBytes(result), minBytes: leastBytes(result) }));
  const limit = commonLimit(parts, maxBytes - names);
  if (limit === undefined) return results;
  const shorten = ([name, result]: (typeof entries)[number], index: number): [string, AgentHandlerResult] => {
    const { bytes = 0, minBytes = 0 } = parts[index] ?? {};
    return [name, bytes <= limit ? result : shortenResult(result, Math.max(limit, minBytes))];
  };
  return Object.fromEntries(entries.map(shorten));
}

/** Bytes of a result without its answer and tool calls. */
function leastBytes(result: AgentHandlerResult): number {
  const omittedChars = result.output.length + (result.omittedChars ?? 0);
  const least = { ...result, output: '', toolCalls: [], omittedChars };
  return Math.min(jsonBytes(least), jsonBytes(result));
}

function newestWithin<T>(items: readonly T[], maxBytes: number): T[] {
  let bytes = 0;
  let start = items.length;
  while (start > 0) {
    bytes += jsonBytes(items[start - 1]) + ','.length;
    if (bytes > maxBytes) break;
    start -= 1;
  }
  return items.slice(start);
}

/** Returns the number of bytes of a value's JSON. */
export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** Text that was cut. */
export interface CutText {
  /** The kept part, with a note about the missing one for readers and models. */
  readonly text: string;
  readonly omittedChars: number;
}

/**
 * Cuts an answer so that its JSON has at most `maxBytes`. Never splits a surrogate pair. A text of a few bytes has no
 * note.
 *
 * @param omittedBefore characters that an earlier cut omitted
 */
export function cutToBytes(text: string, maxBytes: number, omittedBefore = 0): CutText {
  if (jsonBytes(text) <= maxBytes) return { text, omittedChars: omittedBefore };
  const whole = omittedBefore === 0 ? text : text.replace(cutNote, '');
  const total = whole.length + omittedBefore;
  // The note with the most digits.
  const room = maxBytes - (jsonBytes(noteOf(total, total)) - quotes);
  const kept = room < quotes ? '' : whole.slice(0, longestPrefix(whole, room));
  const omittedChars = total - kept.length;
  return { text: room < quotes ? '' : kept + noteOf(omittedChars, total), omittedChars };
}

const quotes = '""'.length;
const cutNote = /\n\n\[The answer is cut: \d+ of \d+ characters are missing\.\]$/;

function noteOf(omitted: number, total: number): string {
  return `\n\n[The answer is cut: ${omitted} of ${total} characters are missing.]`;
}

/** Returns the length of the longest prefix whose JSON has at most `maxBytes`. */
function longestPrefix(text: string, maxBytes: number): number {
  let fits = 0;
  let tooLong = Math.min(text.length, maxBytes) + 1;
  while (tooLong - fits > 1) {
    const middle = Math.floor((fits + tooLong) / 2);
    if (jsonBytes(text.slice(0, middle)) <= maxBytes) fits = middle;
    else tooLong = middle;
  }
  return cutText(text, fits).length;
}

/** Part of a result that can be cut. */
export interface CuttablePart {
  /** Bytes of the whole part. */
  readonly bytes: number;
  /** Bytes to which it can be cut. */
  readonly minBytes: number;
}

/**
 * Returns the number of bytes to which every longer part has to be cut so that all together have at most `maxBytes`, or
 * `undefined` if they cannot.
 */
export function commonLimit(parts: readonly CuttablePart[], maxBytes: number): number | undefined {
  const sumWithin = (limit: number): number =>
    parts.reduce((sum, { bytes, minBytes }) => sum + Math.max(minBytes, Math.min(bytes, limit)), 0);
  if (sumWithin(0) > maxBytes) return undefined;
  let fits = 0;
  let tooMuch = maxBytes + 1;
  while (tooMuch - fits > 1) {
    const middle = Math.floor((fits + tooMuch) / 2);
    if (sumWithin(middle) <= maxBytes) fits = middle;
    else tooMuch = middle;
  }
  return fits;
}
