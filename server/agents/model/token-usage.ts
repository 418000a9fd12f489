import { recordOf } from './foreign-values.js';

/** Number of tokens of one or more model calls. */
export interface TokenUsage {
  promptTokens: number;
  completionTokens: number;
  totalTokens: number;
  /** Prompt tokens that the vendor read from its cache. Part of `promptTokens`. Absent if none. */
  cachedTokens?: number;
  /** Prompt tokens that the vendor wrote to its cache. Part of `promptTokens`. Absent if none. */
  cacheWriteTokens?: number;
  /** Tokens of the model's reasoning. Part of `completionTokens`. Absent if none. */
  reasoningTokens?: number;
  /** Cost of the calls in the currency of `prices`. Absent if an agent has no price for one of them. */
  cost?: number;
  /** Present if the provider did not report a part, so that it is estimated as one token per four bytes of text. */
  estimated?: true;
}

/** Spending of the agents that a tool call runs. */
export interface CallSpending extends TokenUsage {
  /** Number of their runs. Absent if none. */
  runs?: number;
}

/** Returns a usage of zero tokens. */
export function noUsage(): TokenUsage {
  return { promptTokens: 0, completionTokens: 0, totalTokens: 0 };
}

/** Adds `usage` to `sum` in place. */
export function addUsage(sum: TokenUsage, usage: TokenUsage): void {
  if (sum.cost !== undefined || usage.cost !== undefined) addCost(sum, usage);
  sum.promptTokens += usage.promptTokens;
  sum.completionTokens += usage.completionTokens;
  sum.totalTokens += usage.totalTokens;
  if (usage.cachedTokens !== undefined) sum.cachedTokens = (sum.cachedTokens ?? 0) + usage.cachedTokens;
  if (usage.cacheWriteTokens !== undefined) {
    sum.cacheWriteTokens = (sum.cacheWriteTokens ?? 0) + usage.cacheWriteTokens;
  }
  if (usage.reasoningTokens !== undefined) sum.reasoningTokens = (sum.reasoningTokens ?? 0) + usage.reasoningTokens;
  if (usage.estimated) sum.estimated = true;
}

/** Adds `spending` to `sum` in place. */
export function addSpending(sum: CallSpending, spending: CallSpending): void {
  addUsage(sum, spending);
  if (spending.runs !== undefined) sum.runs = (sum.runs ?? 0) + spending.runs;
}

/** Adds the cost. A sum with a part of unknown cost has none. */
function addCost(sum: TokenUsage, { cost, totalTokens }: TokenUsage): void {
  if (cost === undefined) {
    if (totalTokens > 0) delete sum.cost;
  } else if (sum.cost !== undefined || sum.totalTokens === 0) {
    sum.cost = (sum.cost ?? 0) + cost;
  }
}

/** Returns `true` if all counts are the same. */
export function isSameUsage(a: TokenUsage, b: TokenUsage): boolean {
  return (
    a.promptTokens === b.promptTokens &&
    a.completionTokens === b.completionTokens &&
    a.totalTokens === b.totalTokens &&
    a.cachedTokens === b.cachedTokens &&
    a.cacheWriteTokens === b.cacheWriteTokens &&
    a.reasoningTokens === b.reasoningTokens &&
    a.cost === b.cost &&
    a.estimated === b.estimated
  );
}

/** Returns the difference between a sum of usages and an earlier state of it. */
export function usageSince(sum: TokenUsage, earlier: TokenUsage): TokenUsage {
  const since = noUsage();
  since.promptTokens = sum.promptTokens - earlier.promptTokens;
  since.completionTokens = sum.completionTokens - earlier.completionTokens;
  since.totalTokens = sum.totalTokens - earlier.totalTokens;
  for (const detail of ['cachedTokens', 'cacheWriteTokens', 'reasoningTokens'] as const) {
    const count = (sum[detail] ?? 0) - (earlier[detail] ?? 0);
    if (count > 0) since[detail] = count;
  }
  if (sum.cost !== undefined) since.cost = sum.cost - (earlier.cost ?? 0);
  if (sum.estimated) since.estimated = true;
  return since;
}

/**
 * Returns the usage that a provider reported, or `undefined` if the report is unusable: not an object, a count that is
 * negative or so large that a sum could be infinite, or zero tokens, because every call costs some.
 */
export function reportedUsage(usage: unknown): TokenUsage | undefined {
  if (typeof usage !== 'object' || usage === null) return undefined;
  const { promptTokens = 0, completionTokens = 0, totalTokens = 0, estimated } = usage as Partial<TokenUsage>;
  const { cachedTokens, cacheWriteTokens, reasoningTokens } = usage as Partial<TokenUsage>;
  if (!isCount(promptTokens) || !isCount(completionTokens) || !isCount(totalTokens)) return undefined;
  const total = Math.max(totalTokens, promptTokens + completionTokens);
  if (total === 0) return undefined;
  const reported: TokenUsage = { promptTokens, completionTokens, totalTokens: total };
  if (isDetail(cachedTokens)) reported.cachedTokens = cachedTokens;
  if (isDetail(cacheWriteTokens)) reported.cacheWriteTokens = cacheWriteTokens;
  if (isDetail(reasoningTokens)) reported.reasoningTokens = reasoningTokens;
  if (estimated) reported.estimated = estimated;
  return reported;
}

/** Returns `true` for a number of tokens: not negative, and so small that a sum is exact. Estimates may have fractions. */
export function isCount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER;
}

/** Returns `true` for a stored usage. */
export function isUsage(value: unknown): value is TokenUsage {
  const { promptTokens, completionTokens, totalTokens, cost = 0 } = recordOf(value);
  return [promptTokens, completionTokens, totalTokens, cost].every(isCount);
}

function isDetail(value: unknown): value is number {
  return isCount(value) && value > 0;
}
