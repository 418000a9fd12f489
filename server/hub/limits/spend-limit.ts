import { InvalidOptionError, quote } from '../../errors.js';
import { checkName, OptionChecker } from '../../options.js';
import type { KeyValueStore } from '../../transports/key-values.js';
import { readSpend, type Spending, type SpendRule } from './spend-state.js';

/** Unit of a spending limit: tokens, or money in the currency of the agent's `prices`. */
export type SpendUnit = 'tokens' | 'cost';

/** Limit of what an agent and its delegates spend in a window of time, over all processes. */
export interface SpendLimit {
  /** Maximum amount in any window of `perMs`. */
  readonly max: number;
  /** Length of the window, in milliseconds. */
  readonly perMs: number;
  readonly unit: SpendUnit;
  /** Returns the key of a run for its payload, such as a tenant: each key has a limit of its own. @default one limit for all */
  readonly key?: (payload: unknown) => string;
}

/** Spending limit of an agent as other processes read it. */
export interface SpendLimitDescription extends SpendRule {
  readonly unit: SpendUnit;
  /** Each key has a limit of its own. */
  readonly isKeyed?: true;
}

/** Amounts of one spending limit of an agent. */
export interface AgentSpend extends SpendRule, Spending {
  readonly agent: string;
  readonly unit: SpendUnit;
  /** Key of the amounts. Absent for a limit without keys. */
  readonly key?: string;
  /** Amount that is left for further calls: 0 if more was spent. */
  readonly left: number;
}

/** Options of `hub.spend`. */
export interface SpendOptions {
  /** Name of an agent. @default all agents */
  agent?: string;
  /** Key of the limits that have keys. @default limits without keys alone */
  key?: string;
}

/** Rule of a spending limit, and the key under which a transport has its state. */
export interface SpendPlace {
  readonly rule: SpendRule;
  readonly stateKey: string;
}

/** @throws {InvalidOptionError} unless these are spending limits */
export function checkSpendLimits(limits: readonly SpendLimit[], owner: string): void {
  if (!Array.isArray(limits)) throw new InvalidOptionError(`spendLimits of ${owner}`, 'an array', limits, 'type');
  for (const [index, limit] of limits.entries()) {
    const check = new OptionChecker(limit, ['max', 'perMs', 'unit', 'key'], owner, `spendLimits[${index}]`);
    const { max, perMs, unit, key } = limit;
    check.that(Number.isFinite(max) && max > 0, 'max', 'a number above 0', max);
    check.required('perMs', perMs);
    check.durationMs('perMs', perMs, { min: 1 });
    check.that(unit === 'tokens' || unit === 'cost', 'unit', '"tokens" or "cost"', unit);
    check.function('key', key);
  }
}

/** Describes spending limits for other processes. */
export function describeSpendLimits(limits: readonly SpendLimit[]): readonly SpendLimitDescription[] {
  return limits.map(({ max, perMs, unit, key }) => ({ max, perMs, unit, ...(key && { isKeyed: true }) }));
}

/** Returns the key of a run under a limit; `undefined` if the limit has no keys. @throws {InvalidOptionError} */
export function spendKeyOf({ key }: SpendLimit, payload: unknown, agent: string): string | undefined {
  if (key === undefined) return undefined;
  const found = key(payload);
  checkName(found, `the result of key of a spending limit of agent ${quote(agent)}`);
  return found;
}

/** Returns the place of the amounts of an agent, and of one key. Limits of one unit and window share them. */
export function spendPlaceOf(
  agent: string,
  { max, perMs, unit }: SpendRule & { readonly unit: SpendUnit },
  key: string | undefined,
): SpendPlace {
  const names = key === undefined ? [agent] : [agent, key];
  return {
    rule: { max, perMs },
    stateKey: `hubline:spend:${unit}:${perMs}:${names.map(encodeURIComponent).join(':')}`,
  };
}

/** Reads what agents have spent. @throws {InvalidOptionError} */
export async function readAgentSpend(
  agents: readonly { readonly name: string; readonly spendLimits?: readonly SpendLimitDescription[] }[],
  kv: KeyValueStore,
  options: SpendOptions,
): Promise<readonly AgentSpend[]> {
  const check = new OptionChecker(options, ['agent', 'key'], 'spend');
  check.name('agent', options.agent);
  check.name('key', options.key);
  const { agent: wanted, key } = options;
  const limits = agents
    .filter(({ name }) => wanted === undefined || name === wanted)
    .flatMap(({ name, spendLimits = [] }) => spendLimits.map((limit) => ({ agent: name, ...limit })))
    .filter(({ isKeyed = false }) => !isKeyed || key !== undefined);
  const now = await kv.now();
  return Promise.all(
    limits.map(async ({ agent, isKeyed, max, perMs, unit }) => {
      const own = isKeyed === true ? key : undefined;
      const place = spendPlaceOf(agent, { max, perMs, unit }, own);
      const { spent, reserved } = readSpend(place.rule, await kv.get(place.stateKey), now);
      const left = Math.max(0, max - spent - reserved);
      return { agent, unit, max, perMs, ...(own !== undefined && { key: own }), spent, reserved, left };
    }),
  );
}
