import { InvalidOptionError, maxDurationMs } from './errors.js';

/** Bounds of an accepted range, both inclusive. */
export interface Range {
  readonly min?: number;
  readonly max?: number;
}

const maxNameLength = 512;

/** Returns `true` for a name or an id that every transport can store. */
export function isName(value: unknown): value is string {
  return (
    typeof value === 'string' && value.length >= 1 && value.length <= maxNameLength && !/[\p{Cc}\p{Cs}]/u.test(value)
  );
}

/**
 * Checks a name or an id that transports store: an event type, a service, a `dedupeId`.
 *
 * @param subject the value's name in the error message
 * @throws {InvalidOptionError}
 */
export function checkName(value: unknown, subject: string): void {
  if (isName(value)) return;
  const expected = `a string of 1 to ${maxNameLength} characters without control characters and unpaired surrogates`;
  throw new InvalidOptionError(subject, expected, value);
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
  readonly #prefix: string;
  readonly #shown: 'value' | 'type';

  /**
   * Refuses options that nobody reads: a misspelt `retries` must not pass for a setting.
   *
   * @param names every option that `owner` reads
   * @param group option of `owner` that holds these options, such as `retry`
   * @param shown `type` for an owner that receives a secret, which may have been passed as the wrong option: errors name
   * the types of values only
   */
  constructor(
    options: unknown,
    names: readonly string[],
    owner: string,
    group?: string,
    shown: 'value' | 'type' = 'value',
  ) {
    this.#owner = owner;
    this.#shown = shown;
    this.#prefix = group === undefined ? '' : `${group}.`;
    if (typeof options !== 'object' || options === null) {
      throw new InvalidOptionError(`${group ?? 'options'} of ${owner}`, 'an object', options, 'type');
    }
    const unknown = Object.keys(options).find((name) => !names.includes(name));
    if (unknown !== undefined) {
      const subject = group === undefined ? owner : `${group} of ${owner}`;
      throw new InvalidOptionError(`option of ${subject}`, `one of ${names.join(', ')}`, unknown);
    }
  }

  /** Checks a rule that no other method has. */
  that(isValid: boolean, option: string, expected: string, got: unknown): void {
    if (!isValid)
      throw new InvalidOptionError(`${this.#prefix}${option} of ${this.#owner}`, expected, got, this.#shown);
  }

  required(option: string, value: unknown): void {
    this.that(value !== undefined, option, 'set', value);
  }

  /** Requires a whole number, by default 1 or more. */
  count(option: string, value: unknown, { min = 1, max = Number.MAX_SAFE_INTEGER }: Range = {}): void {
    const isValid = Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
    const range = max === Number.MAX_SAFE_INTEGER ? `, ${min} or more` : ` from ${min} to ${max}`;
    this.that(value === undefined || isValid, option, `a whole number${range}`, value);
  }

  /** Requires milliseconds, by default 0 or more, at most {@link maxDurationMs}. */
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

  /** Requires a name or an id that every transport can store. */
  name(option: string, value: unknown): void {
    if (value !== undefined) checkName(value, `${this.#prefix}${option} of ${this.#owner}`);
  }

  function(option: string, value: unknown): void {
    if (value !== undefined && typeof value !== 'function') this.#refuseType(option, 'a function', value);
  }

  /** Requires an object that has all of `methods`. */
  methods(option: string, value: unknown, methods: readonly string[]): void {
    const isValid =
      typeof value === 'object' &&
      value !== null &&
      methods.every((method) => typeof Reflect.get(value, method) === 'function');
    if (value !== undefined && !isValid) {
      this.#refuseType(option, `an object with the methods ${methods.join(', ')}`, value);
    }
  }

  /** Refuses a value of the wrong type. A text in place of an object or a function may be a key or a password. */
  #refuseType(option: string, expected: string, value: unknown): never {
    throw new InvalidOptionError(`${this.#prefix}${option} of ${this.#owner}`, expected, value, 'type');
  }
}

/** Returns `true` if a host name or address, in any notation, stays on this machine. @param host with or without brackets */
export function isLoopbackHost(host: string): boolean {
  const name = canonicalHost(host);
  // An IPv4 address may be written as an IPv6 one.
  return (
    name !== undefined &&
    /^(127(\.\d{1,3}){3}|\[::1\]|\[::ffff:7f[\da-f]{2}:[\da-f]{1,4}\]|(.+\.)?localhost)$/.test(name)
  );
}

/**
 * Returns a host as browsers send it: in lower case, an IPv4 address as four numbers, an IPv6 address in its short form
 * and in brackets. `undefined` if it is not a host.
 */
export function canonicalHost(host: string): string | undefined {
  const text = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  const url = `http://${text}/`;
  if (/[/?#@\\\s]/.test(text) || /\]?:\d*$/.test(text.replace(/^\[.*\]/, '')) || !URL.canParse(url)) return undefined;
  return new URL(url).hostname.replace(/\.$/, '');
}
