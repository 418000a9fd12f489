import type { ResponseFormat } from '../model/model-provider.js';

/** Returns the part of a prompt that describes the format to a model without a JSON mode. */
export function describeFormat({ schema }: ResponseFormat): string {
  return `Answer with JSON only, without Markdown, that matches this JSON Schema:\n${JSON.stringify(schema)}`;
}
