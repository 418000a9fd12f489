import { addUsage, noUsage, type TokenUsage } from './token-usage.js';

/** Told of the tokens of each model call. */
export type UsageListener = (usage: TokenUsage) => void;

/**
 * The tokens of one run and of everything it starts. A delegate's ledger has the delegating run's as
 * its parent: what it spends counts in both, and the narrower budget rules.
 */
export class TokenLedger {
  /** Spent so far, by delegates too. */
  readonly usage: TokenUsage = noUsage();
  readonly #budget: number | undefined;
  readonly #parent: TokenLedger | undefined;
  /** The chain's, each once: agents of one application often share a meter. */
  readonly #listeners: readonly UsageListener[];
  #lastInLine: Promise<void> = Promise.resolve();

  constructor(budget?: number, parent?: TokenLedger, listeners: readonly UsageListener[] = []) {
    this.#budget = budget;
    this.#parent = parent;
    this.#listeners = parent === undefined ? listeners : [...new Set([...parent.#listeners, ...listeners])];
  }

  /** Tokens that may still be spent, negative once more were spent; `Infinity` without a budget. */
  get left(): number {
    const own = this.#budget === undefined ? Number.POSITIVE_INFINITY : this.#budget - this.usage.totalTokens;
    return this.#parent === undefined ? own : Math.min(own, this.#parent.left);
  }

  /** Counts a call here and in every ledger above, and tells each listener of the chain once. */
  charge(usage: TokenUsage): void {
    for (let ledger: TokenLedger | undefined = this; ledger !== undefined; ledger = ledger.#parent) {
      addUsage(ledger.usage, usage);
    }
    for (const listener of this.#listeners) listener({ ...usage });
  }

  /**
   * Waits for this ledger's turn to make a call. Calls that share a budget go one after another: only
   * then is what is left known when the next one asks, and the budget kept.
   *
   * @returns a function that ends the turn, or `undefined` where no budget is shared and nobody waits
   */
  takeTurn(): Promise<() => void> | undefined {
    const line = this.#topBudget();
    if (line === undefined) return undefined;
    const ahead = line.#lastInLine;
    let endTurn: () => void = () => {};
    line.#lastInLine = new Promise((resolve) => {
      endTurn = resolve;
    });
    return ahead.then(() => endTurn);
  }

  #topBudget(): TokenLedger | undefined {
    const above = this.#parent === undefined ? undefined : this.#parent.#topBudget();
    return above ?? (this.#budget === undefined ? undefined : this);
  }
}
