import type { TokenUsage } from '../../model/token-usage.js';

/** Fields of the vendors' usage: tokens of the prompt and of the answer. */
const fields: readonly (readonly [prompt: string, completion: string])[] = [
  ['prompt_tokens', 'completion_tokens'],
  ['input_tokens', 'output_tokens'],
  ['promptTokenCount', 'candidatesTokenCount'],
];

/** Returns the usage in the body of a response that cannot be read as an answer, or `undefined` if it has none. */
export function usageOfBody(body: Readonly<Record<string, unknown>>): TokenUsage | undefined {
  const usage = body['usage'] ?? body['usageMetadata'];
  if (typeof usage !== 'object' || usage === null) return undefined;
  // Every property of an object may be read as unknown.
  const counts = usage as Readonly<Record<string, unknown>>;
  for (const [prompt, completion] of fields) {
    const promptTokens = counts[prompt];
    const completionTokens = counts[completion] ?? 0;
    if (isCount(promptTokens) && isCount(completionTokens)) {
      return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens };
    }
  }
  return undefined;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
