import { InvalidOptionError } from './errors.js';

/** Longest duration that every transport can store, in milliseconds: about 31 years. */
export const maxDurationMs = 1_000_000_000_000;

/** Narrows an accepted range. */
export interface Range {
  readonly min?: number;
  readonly max?: number;
}

/**
 * Checks the options that a user passed to `owner`: a function, or something that has a name. Every method throws
 * {@link InvalidOptionError} with the option's name and value. Methods for a kind of value accept `undefined`.
 *
 * @example
 * ```ts
 * const check = new OptionChecker(options, ['drainMs'], 'stop');
 * check.durationMs('drainMs', options.drainMs);
 * ```
 */
export class OptionChecker {
  readonly #owner: string;

  /**
   * Refuses options that nobody reads: a misspelt `retries` must not pass for a setting.
   *
   * @param names every option that `owner` reads
   */
  constructor(options: unknown, names: readonly string[], owner: string) {
    this.#owner = owner;
    if (typeof options !== 'object' || options === null) {
      throw new InvalidOptionError(`options of ${owner}`, 'an object', options);
    }
    const unknown = Object.keys(options).find((name) => !names.includes(name));
    if (unknown !== undefined) {
      throw new InvalidOptionError(`option of ${owner}`, `one of ${names.join(', ')}`, unknown);
    }
  }

  /** Checks a rule that no other method has. */
  that(isValid: boolean, option: string, expected: string, got: unknown): void {
    if (!isValid) throw new InvalidOptionError(`${option} of ${this.#owner}`, expected, got);
  }

  /** A whole number, by default 1 or more. */
  count(option: string, value: unknown, { min = 1, max = Number.MAX_SAFE_INTEGER }: Range = {}): void {
    const isValid = Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
    const range = max === Number.MAX_SAFE_INTEGER ? `, ${min} or more` : ` from ${min} to ${max}`;
    this.that(value === undefined || isValid, option, `a whole number${range}`, value);
  }

  /** Milliseconds, by default 0 or more, at most {@link maxDurationMs}. */
  durationMs(option: string, value: unknown, { min = 0, max = maxDurationMs }: Range = {}): void {
    const isValid = typeof value === 'number' && value >= min && value <= max;
    this.that(value === undefined || isValid, option, `milliseconds, from ${min} to ${max}`, value);
  }

  boolean(option: string, value: unknown): void {
    this.that(value === undefined || typeof value === 'boolean', option, 'true or false', value);
  }

  string(option: string, value: unknown): void {
    this.that(value === undefined || typeof value === 'string', option, 'a string', value);
  }

  function(option: string, value: unknown): void {
    this.that(value === undefined || typeof value === 'function', option, 'a function', value);
  }
}
