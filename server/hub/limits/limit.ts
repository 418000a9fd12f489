import { InvalidOptionError, quote } from '../../errors.js';
import { checkName, OptionChecker } from '../../options.js';
import type { LimitRule } from './limit-state.js';

/** Options of {@link createLimit}: a rate, or a concurrency. */
export type LimitOptions =
  | {
      /** 1 to 512 characters without control characters and unpaired surrogates. All limits of one name are one limit. */
      name: string;
      /** Maximum number of starts in any window of `perMs`, from 1 to 1,000,000. */
      max: number;
      /** Length of the window, in milliseconds. */
      perMs: number;
      concurrency?: never;
    }
  | {
      /** 1 to 512 characters without control characters and unpaired surrogates. All limits of one name are one limit. */
      name: string;
      /** Maximum number of functions that run at once, from 1 to 1,000. */
      concurrency: number;
      max?: never;
      perMs?: never;
    };

const ruleOf: unique symbol = Symbol('hubline.limit-rule');

/** Limit of what a vendor or a database accepts, shared by handlers, steps, tools and model calls. */
export interface Limit {
  readonly name: string;
  /** Key of a limit that {@link Limit.for} returned; `undefined` otherwise. */
  readonly key: string | undefined;
  /**
   * Returns the limit of one key, such as a tenant: each key has permits of its own.
   *
   * @throws {InvalidOptionError} unless the key has 1 to 512 characters without control characters and unpaired surrogates
   */
  for(key: string): Limit;
  readonly [ruleOf]: LimitRule;
}

const maxRate = 1_000_000;
const maxConcurrency = 1_000;

/**
 * Creates a limit that handlers, steps, tools and model calls share: pass it to them as `limit`. It holds over all
 * processes of a transport. The rate is a sliding window log, by the clock of the transport.
 *
 * @example
 * ```ts
 * const vendor = createLimit({ name: 'vendor', max: 5, perMs: 1_000 });
 *
 * hub.event({ type: 'order.placed', limit: vendor, handler: ({ payload }) => charge(payload) });
 * await step.run('refund', () => refund(order), { limit: vendor.for(order.tenant) });
 * ```
 * @throws {InvalidOptionError}
 */
export function createLimit(options: LimitOptions): Limit {
  checkName(options?.name, 'name of createLimit');
  const { name, max, perMs, concurrency } = options;
  const check = new OptionChecker(options, ['name', 'max', 'perMs', 'concurrency'], `limit ${quote(name)}`);
  check.that(concurrency === undefined || max === undefined, 'max', 'omitted if concurrency is set', max);
  check.that(concurrency === undefined || perMs === undefined, 'perMs', 'omitted if concurrency is set', perMs);
  check.count('concurrency', concurrency, { max: maxConcurrency });
  if (concurrency !== undefined) return limitOf(name, undefined, { concurrency });
  check.required('max', max);
  check.required('perMs', perMs);
  check.count('max', max, { max: maxRate });
  check.durationMs('perMs', perMs, { min: 1 });
  return limitOf(name, undefined, { max: max ?? 1, perMs: perMs ?? 1 });
}

function limitOf(name: string, key: string | undefined, rule: LimitRule): Limit {
  return Object.freeze({
    name,
    key,
    for(wanted: string) {
      checkName(wanted, `key of limit ${quote(name)}`);
      return limitOf(name, wanted, rule);
    },
    [ruleOf]: rule,
  });
}

/** Limit of an event type as other processes read it: a rate, or a concurrency. */
export interface LimitDescription {
  readonly name: string;
  readonly max?: number;
  readonly perMs?: number;
  readonly concurrency?: number;
}

/** Describes a limit that holds for all payloads; `undefined` if there is none, or if a function or a key chooses it. */
export function describeLimit(limit: Limit | ((value: never) => Limit) | undefined): LimitDescription | undefined {
  if (limit === undefined || typeof limit === 'function' || limit.key !== undefined) return undefined;
  return { name: limit.name, ...limit[ruleOf] };
}

/** Returns the rule of a limit that another process described. */
export function describedRule({ max = 1, perMs = 1, concurrency }: LimitDescription): LimitRule {
  return concurrency === undefined ? { max, perMs } : { concurrency };
}

/** Returns the rule of a limit, and the key under which a transport has its state. */
export function placeOf({ name, key, [ruleOf]: rule }: Limit): { readonly rule: LimitRule; readonly stateKey: string } {
  return { rule, stateKey: stateKeyOf(rule, key === undefined ? [name] : [name, key]) };
}

/** Returns the key under which a transport has the state of a limit. @param names name of the limit, and its key */
export function stateKeyOf(rule: LimitRule, names: readonly string[]): string {
  const kind = 'concurrency' in rule ? 'concurrency' : 'rate';
  return `hubline:limit:${kind}:${names.map(encodeURIComponent).join(':')}`;
}

/** @throws {InvalidOptionError} unless the value is a limit */
export function checkLimit(value: unknown, subject: string): asserts value is Limit {
  if (typeof value !== 'object' || value === null || !(ruleOf in value)) {
    throw new InvalidOptionError(subject, 'the result of createLimit', value, 'type');
  }
}

/** Returns the limit that an option selects for a value. @throws {InvalidOptionError} unless a function returns a limit */
export function selectLimit<T>(limit: Limit | ((value: T) => Limit), value: T, subject: string): Limit {
  const selected = typeof limit === 'function' ? limit(value) : limit;
  checkLimit(selected, subject);
  return selected;
}

/** Returns `true` if each start counts, and none is taken back. */
export function isRate({ [ruleOf]: rule }: Limit): boolean {
  return !('concurrency' in rule);
}
