/** Facts about a step of an agent, for introspection. No text of a user, a model or a tool. */
export interface TurnFacts {
  /** Agent whose model was called. */
  readonly agent?: string;
  /** Model that answered. */
  readonly model?: string;
  /** Tokens of the model call, failed attempts at it included. */
  readonly usage?: TurnUsage;
  /** The model received an error as the result of the tool call. */
  readonly isToolError?: true;
}

/** Tokens of one or more model calls, and their cost if the agent has prices. */
export interface TurnUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly totalTokens: number;
  /** Part of `promptTokens` that the vendor read from its cache. */
  readonly cachedTokens?: number;
  /** Part of `completionTokens` that the model used to reason. */
  readonly reasoningTokens?: number;
  /** In the currency of the agent's `prices`. */
  readonly cost?: number;
}

/** Sums the tokens of several calls. The sum has a cost if all calls that used tokens have one. */
export function sumUsage(all: readonly TurnUsage[]): TurnUsage {
  const sum = (read: (usage: TurnUsage) => number | undefined): number =>
    all.reduce((total, usage) => total + (read(usage) ?? 0), 0);
  const used = all.filter(({ totalTokens }) => totalTokens > 0);
  const cachedTokens = sum((usage) => usage.cachedTokens);
  const reasoningTokens = sum((usage) => usage.reasoningTokens);
  return {
    promptTokens: sum((usage) => usage.promptTokens),
    completionTokens: sum((usage) => usage.completionTokens),
    totalTokens: sum((usage) => usage.totalTokens),
    ...(cachedTokens > 0 && { cachedTokens }),
    ...(reasoningTokens > 0 && { reasoningTokens }),
    ...(used.length > 0 && used.every(({ cost }) => cost !== undefined) && { cost: sum((usage) => usage.cost) }),
  };
}
