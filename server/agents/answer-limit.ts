/**
 * How long an answer a token budget may ask for. Vendors reject a `maxTokens` above what their model can
 * write, and nobody tells beforehand how much that is. Where one is rejected it need not be sent: the model
 * cannot write what is left anyway.
 */
export class AnswerLimit {
  #trusted = Number.POSITIVE_INFINITY;

  /** The `maxTokens` of a call that may spend `left` tokens; `undefined` where it is to be left out. */
  within(left: number): number | undefined {
    return left <= this.#trusted ? left : undefined;
  }

  /** Takes note that the vendor takes no `maxTokens` as high as this. */
  rejected(maxTokens: number): void {
    // By half: what is left shrinks with every call, and each would be rejected once more.
    this.#trusted = Math.min(this.#trusted, maxTokens / 2);
  }
}
