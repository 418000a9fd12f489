import { InvalidOptionError } from '../../errors.js';
import { OptionChecker } from '../../options.js';
import type { TokenUsage } from './token-usage.js';

/** Prices of a model, per million tokens, in a currency of your choice. */
export interface ModelPrice {
  /** Price of prompt tokens. */
  readonly input: number;
  /** Price of completion tokens, reasoning included. */
  readonly output: number;
  /** Price of prompt tokens that the vendor read from its cache. @default input */
  readonly cachedInput?: number;
  /** Price of prompt tokens that the vendor wrote to its cache. @default input */
  readonly cacheWrite?: number;
}

/** Prices by model. */
export type PriceList = ReadonlyMap<string, ModelPrice>;

const names: readonly string[] = ['input', 'output', 'cachedInput', 'cacheWrite'];

/** Checks prices by model. @throws {InvalidOptionError} */
export function resolvePrices(prices: Readonly<Record<string, ModelPrice>>, owner: string): PriceList {
  if (typeof prices !== 'object' || prices === null) {
    throw new InvalidOptionError(`prices of ${owner}`, 'an object of prices by model', prices);
  }
  for (const [model, price] of Object.entries(prices)) {
    const check = new OptionChecker(price, names, owner, `prices[${JSON.stringify(model)}]`);
    check.required('input', price.input);
    check.required('output', price.output);
    for (const [name, value] of Object.entries(price)) {
      const isPrice = value === undefined || (Number.isFinite(value) && value >= 0);
      check.that(isPrice, name, 'a number per million tokens, 0 or more', value);
    }
  }
  return new Map(Object.entries(prices));
}

const tokensPerPrice = 1_000_000;

/** Returns the cost of a call. */
export function costOf(usage: TokenUsage, price: ModelPrice): number {
  const { promptTokens, completionTokens, cachedTokens = 0, cacheWriteTokens = 0 } = usage;
  const { input, output, cachedInput = input, cacheWrite = input } = price;
  const plain = Math.max(0, promptTokens - cachedTokens - cacheWriteTokens);
  const cost = plain * input + cachedTokens * cachedInput + cacheWriteTokens * cacheWrite + completionTokens * output;
  return cost / tokensPerPrice;
}

/**
 * Returns the maximum number of completion tokens that a call can pay for, or `undefined` if it cannot pay for its
 * prompt. The cost of the prompt is not subtracted: a run exceeds its budget by at most the prompt of one call.
 */
export function affordableTokens(promptTokens: number, costLeft: number, price: ModelPrice): number | undefined {
  const highest = Math.max(price.input, price.cacheWrite ?? 0);
  if (costLeft <= (promptTokens * highest) / tokensPerPrice) return undefined;
  if (price.output === 0) return Number.POSITIVE_INFINITY;
  const tokens = Math.floor((costLeft * tokensPerPrice) / price.output);
  return tokens < 1 ? undefined : tokens;
}
