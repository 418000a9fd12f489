import { UnknownPriceError } from '../../errors.js';
import type { ModelOptions } from '../../model/model-provider.js';
import { affordableTokens, costOf } from '../../model/price.js';
import type { TokenLedger } from '../../model/token-ledger.js';
import type { TokenUsage } from '../../model/token-usage.js';

/** Tokens and money that the budgets of a run leave for its next model call. */
export class CallBudget {
  readonly #ledger: TokenLedger;
  /** Maximum number of tokens of the current call's answer. */
  #ceiling = Number.POSITIVE_INFINITY;

  constructor(ledger: TokenLedger) {
    this.#ledger = ledger;
  }

  /** `true` if a budget applies. */
  get isLimited(): boolean {
    const { left, costLeft } = this.#ledger;
    return left !== Number.POSITIVE_INFINITY || costLeft !== Number.POSITIVE_INFINITY;
  }

  /**
   * Returns the tokens that the budgets leave for an answer, or `undefined` if they do not cover its prompt.
   *
   * @param prompt tokens of the prompt
   * @throws {UnknownPriceError} if a cost is limited, and the model has no price
   */
  answerTokens({ model, maxTokens }: ModelOptions, prompt: number): number | undefined {
    const tokens = this.#tokensFor(model, prompt);
    this.#ceiling = Math.min(tokens ?? 0, maxTokens ?? Number.POSITIVE_INFINITY);
    return tokens;
  }

  #tokensFor(model: string, prompt: number): number | undefined {
    const { left, costLeft } = this.#ledger;
    if (left <= prompt) return undefined;
    if (costLeft === Number.POSITIVE_INFINITY) return left;
    const price = this.#ledger.priceOf(model);
    if (price === undefined) throw new UnknownPriceError(model);
    const affordable = affordableTokens(prompt, costLeft, price);
    return affordable && Math.min(left, affordable);
  }

  /** Adds the cost to the usage of the current call. If usage is not reported and money is limited, at most. */
  priced(usage: TokenUsage, { model }: ModelOptions): TokenUsage {
    const price = this.#ledger.priceOf(model);
    if (price === undefined) return usage;
    const isGuess = usage.estimated && this.#ledger.costLeft !== Number.POSITIVE_INFINITY;
    const completionTokens = Math.max(usage.completionTokens, isGuess && price.output > 0 ? this.#ceiling : 0);
    return { ...usage, cost: costOf({ ...usage, completionTokens }, price) };
  }
}
