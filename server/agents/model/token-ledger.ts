import type { SpendPlace, SpendUnit } from '../../hub/limits/spend-limit.js';
import type { SpendRule } from '../../hub/limits/spend-state.js';
import type { ModelPrice, PriceList } from './price.js';
import { addSpending, addUsage, type CallSpending, noUsage, type TokenUsage } from './token-usage.js';

/** Limits of what a run may spend, and the prices of its models. */
export interface SpendingLimits {
  readonly tokens?: number | undefined;
  readonly cost?: number | undefined;
  readonly prices?: PriceList | undefined;
  /** Limits over all runs. */
  readonly windows?: readonly SpendWindow[];
}

/** Option that limits what a run may spend. */
export type BudgetName = 'tokenBudget' | 'costBudget' | 'spendLimits';

/** Limit of what the runs of an agent spend in a window of time, for one run. */
export interface SpendWindow extends SpendPlace {
  readonly agent: string;
  readonly unit: SpendUnit;
  readonly key: string | undefined;
}

/**
 * Spending limit that ended a run, of the agent of the run or of one that delegated to it. `retryAfterMs`: milliseconds
 * until the window has room for the call; absent if the call exceeds the limit by itself.
 */
export interface ReachedSpendLimit extends SpendRule {
  readonly agent: string;
  readonly unit: SpendUnit;
  readonly key?: string;
  readonly retryAfterMs?: number;
}

/** Receives the token usage of each model call. */
export type UsageListener = (usage: TokenUsage) => unknown;

/**
 * Counts the tokens of one run and of everything that the run starts. A delegate's ledger has the delegating run's
 * ledger as its parent: each call counts in both, and the smaller remaining budget applies.
 */
export class TokenLedger {
  /** Tokens spent so far, delegates included. */
  readonly usage: TokenUsage = noUsage();
  /** Tokens spent by earlier attempts. */
  readonly #before: TokenUsage = noUsage();
  readonly #limits: SpendingLimits;
  readonly #onListenerError: (error: unknown) => void;
  readonly #parent: TokenLedger | undefined;
  /** Counts for the part of a durable run that started this run. */
  readonly #meter: SpendingMeter | undefined;
  /** Listeners of the whole chain, each once: agents of one application often share a listener. */
  readonly #listeners: readonly UsageListener[];
  /** `true` if a budget applies: its own, or that of a run above it. */
  readonly isLimited: boolean;
  /** Budget that did not cover a call. */
  #refusing: BudgetName | undefined;
  /** Spending limits of the chain; `undefined` if there are none. */
  readonly windows: readonly SpendWindow[] | undefined;
  #lastInLine: Promise<void> = Promise.resolve();

  /**
   * @param onListenerError receives the errors of listeners, which change nothing else
   * @param meter receives each call as well: that of the part of a durable run that started this run
   */
  constructor(
    limits: SpendingLimits = {},
    parent?: TokenLedger,
    listeners: readonly UsageListener[] = [],
    onListenerError: (error: unknown) => void = () => {},
    meter?: SpendingMeter,
  ) {
    this.#limits = limits;
    this.isLimited = parent?.isLimited === true || limits.tokens !== undefined || limits.cost !== undefined;
    const { windows } = limits;
    const above = parent?.windows;
    this.windows = windows === undefined || above === undefined ? (windows ?? above) : [...above, ...windows];
    this.#onListenerError = onListenerError;
    this.#parent = parent;
    this.#meter = meter;
    this.#listeners = parent === undefined ? listeners : [...new Set([...parent.#listeners, ...listeners])];
  }

  /** Tokens left to spend. Negative after an overrun, `Infinity` without a budget. */
  get left(): number {
    const own =
      this.#limits.tokens === undefined
        ? Number.POSITIVE_INFINITY
        : this.#limits.tokens - this.#before.totalTokens - this.usage.totalTokens;
    return this.#parent === undefined ? own : Math.min(own, this.#parent.left);
  }

  /** Money left to spend. Negative after an overrun or if a cost is unknown, `Infinity` without a budget. */
  get costLeft(): number {
    const own =
      this.#limits.cost === undefined
        ? Number.POSITIVE_INFINITY
        : this.#limits.cost - knownCost(this.#before) - knownCost(this.usage);
    return this.#parent === undefined ? own : Math.min(own, this.#parent.costLeft);
  }

  /** `true` if more tokens or money was spent than allowed. */
  get isExceeded(): boolean {
    return this.isLimited && (this.left < 0 || this.costLeft < 0);
  }

  /** Budget that ends the run: it is overspent, or did not cover a call. */
  get exhausted(): BudgetName | undefined {
    if (this.left < 0) return 'tokenBudget';
    return this.costLeft < 0 ? 'costBudget' : this.#refusing;
  }

  /** Notes that a budget does not cover the next call. */
  refuse(budget: BudgetName): void {
    this.#refusing = budget;
  }

  /** Returns the price of a model: this agent's, else that of the agent that delegated to it. */
  priceOf(model: string): ModelPrice | undefined {
    return this.#limits.prices?.get(model) ?? this.#parent?.priceOf(model);
  }

  /** Tokens of all attempts. */
  get usageOfAttempts(): TokenUsage {
    const sum = { ...this.usage };
    addUsage(sum, this.#before);
    return sum;
  }

  /** Counts the tokens of earlier attempts in the budget, and not in the usage. */
  resume(usage: TokenUsage): void {
    addUsage(this.#before, usage);
  }

  /** Counts recorded calls in this ledger and in all its ancestors. Listeners were called when they were made. */
  replay(usage: TokenUsage): void {
    void this.#add(usage);
  }

  #add(usage: TokenUsage): Promise<void> | undefined {
    let recorded: Promise<void> | undefined;
    for (let ledger: TokenLedger | undefined = this; ledger !== undefined; ledger = ledger.#parent) {
      addUsage(ledger.usage, usage);
      recorded = ledger.#meter?.add(usage) ?? recorded;
    }
    return recorded;
  }

  /** Counts runs of agents in the parts of a durable run that started this run and its ancestors. */
  countRuns(runs: number): void {
    for (let ledger: TokenLedger | undefined = this; ledger !== undefined; ledger = ledger.#parent) {
      void ledger.#meter?.add({ ...noUsage(), runs });
    }
  }

  /**
   * Counts a call in this ledger and in all its ancestors, and calls each listener of the chain once. Returns a promise
   * that resolves when a durable run has recorded the tokens, if there is one that has to.
   */
  charge(usage: TokenUsage): Promise<void> | undefined {
    const recorded = this.#add(usage);
    for (const listener of this.#listeners) this.#notify(listener, usage);
    return recorded;
  }

  #notify(listener: UsageListener, usage: TokenUsage): void {
    try {
      const returned = listener({ ...usage });
      if (returned instanceof Promise) returned.catch(this.#onListenerError);
    } catch (error) {
      this.#onListenerError(error);
    }
  }

  /**
   * Waits until this ledger may make a call. Calls that share a budget run one after another: only then is the
   * remaining budget known before each call.
   *
   * @returns a function that lets the next call start, or `undefined` if there is no budget
   */
  takeTurn(): Promise<() => void> | undefined {
    const line = this.isLimited ? this.#topBudget() : undefined;
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
    const { tokens, cost } = this.#limits;
    return above ?? (tokens === undefined && cost === undefined ? undefined : this);
  }
}

/** Returns `Infinity` for calls of unknown cost, so that no budget covers them. */
function knownCost({ cost, totalTokens }: TokenUsage): number {
  return cost ?? (totalTokens === 0 ? 0 : Number.POSITIVE_INFINITY);
}

/** Counts the spending of the agents that one part of a durable run starts. */
export class SpendingMeter {
  readonly spent: CallSpending;
  readonly #note: ((spending: CallSpending) => Promise<void> | undefined) | undefined;

  /**
   * @param spent spending of earlier deliveries
   * @param note records an addition. Absent if these agents record their own turns
   */
  constructor(spent: CallSpending, note?: (spending: CallSpending) => Promise<void> | undefined) {
    this.spent = spent;
    this.#note = note;
  }

  /** Returns a promise that resolves when the addition is recorded, unless nothing is to wait for. */
  add(spending: CallSpending): Promise<void> | undefined {
    addSpending(this.spent, spending);
    return this.#note?.(spending);
  }
}
