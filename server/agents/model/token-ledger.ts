import { addUsage, noUsage, type TokenUsage } from './token-usage.js';

/** Receives the token usage of each model call. */
export type UsageListener = (usage: TokenUsage) => void;

/**
 * Counts the tokens of one run and of everything that the run starts. A delegate's ledger has the delegating run's
 * ledger as its parent: each call counts in both, and the smaller remaining budget applies.
 */
export class TokenLedger {
  /** Tokens spent so far, delegates included. */
  readonly usage: TokenUsage = noUsage();
  readonly #budget: number | undefined;
  readonly #parent: TokenLedger | undefined;
  /** Listeners of the whole chain, each once: agents of one application often share a listener. */
  readonly #listeners: readonly UsageListener[];
  #lastInLine: Promise<void> = Promise.resolve();

  constructor(budget?: number, parent?: TokenLedger, listeners: readonly UsageListener[] = []) {
    this.#budget = budget;
    this.#parent = parent;
    this.#listeners = parent === undefined ? listeners : [...new Set([...parent.#listeners, ...listeners])];
  }

  /** Tokens left to spend. Negative after an overrun, `Infinity` without a budget. */
  get left(): number {
    const own = this.#budget === undefined ? Number.POSITIVE_INFINITY : this.#budget - this.usage.totalTokens;
    return this.#parent === undefined ? own : Math.min(own, this.#parent.left);
  }

  /** Counts a call in this ledger and in all its ancestors, and calls each listener of the chain once. */
  charge(usage: TokenUsage): void {
    for (let ledger: TokenLedger | undefined = this; ledger !== undefined; ledger = ledger.#parent) {
      addUsage(ledger.usage, usage);
    }
    for (const listener of this.#listeners) listener({ ...usage });
  }

  /**
   * Waits until this ledger may make a call. Calls that share a budget run one after another: only then is the
   * remaining budget known before each call.
   *
   * @returns a function that lets the next call start, or `undefined` if there is no budget
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
