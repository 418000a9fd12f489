import { shortenable } from '../../hub/events/payloads/encode-result.js';
import type { AgentHandlerResult } from '../agent/agent.js';
import { commonLimit, cutText, jsonBytes } from '../output/cut-text.js';

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
 * Cuts the answer, and leaves out the oldest tool calls if they need more than a quarter of the room. Never changes
 * `data`: half of a value is none.
 */
function shortenResult<T extends AgentHandlerResult>(result: T, maxBytes: number): T {
  const { output, toolCalls, omittedChars = 0 } = result;
  const room = maxBytes - leastBytes(result);
  if (room < 0) return result;
  const keptCalls = newestWithin(toolCalls, room * reportShare);
  const left = room - (jsonBytes(keptCalls) - jsonBytes([])) + jsonBytes('');
  const cut = cutText(output, left, omittedChars);
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
