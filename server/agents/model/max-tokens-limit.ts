/**
 * Highest `maxTokens` that a vendor accepts, learned from rejected calls. Vendors reject a `maxTokens` above the
 * output limit of their model, and offer no way to ask for that limit. A call can then go without `maxTokens`,
 * because the model cannot write that much anyway.
 */
export class MaxTokensLimit {
  #limit = Number.POSITIVE_INFINITY;

  /** Returns `maxTokens` for a call that may spend `left` tokens, or `undefined` if the call must not set it. */
  within(left: number): number | undefined {
    return left <= this.#limit ? left : undefined;
  }

  /** Records that the vendor rejected this `maxTokens`. */
  rejected(maxTokens: number): void {
    // Halved: the budget shrinks with every call, and otherwise each call would be rejected once.
    this.#limit = Math.min(this.#limit, maxTokens / 2);
  }
}
