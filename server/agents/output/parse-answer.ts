import type { SchemaResult } from '../../hub/events/payloads/schema.js';
import { parseWithoutPrototypes } from '../../prototype-keys.js';

/**
 * Parses the JSON of an answer. Models without a JSON mode write it into a Markdown block, or text around it: then the
 * block, or the text from the first bracket to the last, is the JSON.
 */
export function parseAnswer(text: string): SchemaResult {
  const whole = tryParse(text);
  if (whole !== undefined) return whole;
  const block = /```(?:json)?\s*\n([\s\S]*?)```/.exec(text)?.[1];
  const start = text.search(/[[{]/);
  const end = Math.max(text.lastIndexOf(']'), text.lastIndexOf('}'));
  const part = start === -1 || end < start ? undefined : text.slice(start, end + 1);
  return (
    (block === undefined ? undefined : tryParse(block)) ??
    (part === undefined ? undefined : tryParse(part)) ?? { issues: [{ path: 'answer', message: 'is not JSON' }] }
  );
}

function tryParse(text: string): SchemaResult | undefined {
  try {
    return { value: parseWithoutPrototypes(text) };
  } catch {
    // The message of the error quotes the answer.
    return undefined;
  }
}
