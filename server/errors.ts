/**
 * Base errors and the functions that write values into messages. `code` is stable and meant for programs.
 * `message` is meant for people: it names the wrong value and the way out.
 *
 * @module
 */
// Two copies of the package in one process have different classes but share these symbols.
const brands = new Map<unknown, symbol>();

function brand(errorClass: { readonly prototype: object }, key: string): void {
  const symbol = Symbol.for(key);
  brands.set(errorClass, symbol);
  Object.defineProperty(errorClass.prototype, symbol, { value: true });
}

function isInstance<T>(value: unknown, errorClass: abstract new (...args: never) => T): value is T {
  const symbol = brands.get(errorClass);
  if (symbol === undefined) return value instanceof errorClass;
  return typeof value === 'object' && value !== null && symbol in value;
}

/** Options of a {@link HubError}. */
export interface HubErrorOptions extends ErrorOptions {
  /** See {@link HubError.publicMessage}. */
  publicMessage?: string;
}

/** Base of every error that Hubline throws or records. */
export class HubError extends Error {
  static {
    brand(HubError, 'hubline.error');
  }

  /**
   * Returns `true` for an error of this class. `HubError`, `FatalError` and `RetryAfterError` also recognise the
   * errors of another copy of the package in the process, for which `instanceof` fails. For other classes
   * compare `code`.
   *
   * @example
   * ```ts
   * if (HubError.is(error) && error.code === 'ERR_BACKPRESSURE') await pause();
   * ```
   */
  static is<TError extends HubError>(this: abstract new (...args: never) => TError, value: unknown): value is TError {
    // biome-ignore lint/complexity/noThisInStatic: subclasses inherit the method and must not recognise their siblings
    return isInstance(value, this);
  }

  readonly code: string;
  readonly #publicMessage: string | undefined;

  constructor(code: string, message: string, options?: HubErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
    this.#publicMessage = options?.publicMessage;
  }

  /**
   * Message for logs, spans, the dashboard and stored failures: without values and texts of payloads, models, tools and
   * vendors.
   *
   * @default message
   */
  get publicMessage(): string {
    return this.#publicMessage ?? this.message;
  }
}

/**
 * Marks a promise that is refused as handled: the caller receives the error about it, and the promise of an `async`
 * callback reaches nobody, so that its rejection would end the process.
 */
export function ignoreRejection(value: unknown): void {
  if (value instanceof Promise) value.catch(() => {});
}

/** An option has the wrong type or range. Thrown by the call that receives the option. */
export class InvalidOptionError extends HubError {
  /** @param shown `type` if a text may be a secret, such as a key that was passed as the wrong option */
  constructor(option: string, expected: string, got: unknown, shown: 'value' | 'type' = 'value') {
    ignoreRejection(got);
    const message = `${option} must be ${expected}, got`;
    const publicMessage = `${message} ${describeType(got)}`;
    super(
      'ERR_INVALID_OPTION',
      shown === 'type' && typeof got === 'string' ? publicMessage : `${message} ${describe(got)}`,
      { publicMessage },
    );
  }
}

/** An event, workflow or step of this name is already registered. */
export class DuplicateNameError extends HubError {
  constructor(kind: string, name: string) {
    super('ERR_DUPLICATE_NAME', `${kind} ${quote(name)} is already registered; names are unique per hub`);
  }
}

/** One violation of a schema. */
export interface SchemaIssue {
  /** Path of the value, such as `payload.items[2].price`. */
  readonly path: string;
  readonly message: string;
}

/** A schema is itself invalid. Thrown by the call that receives the schema. */
export class InvalidSchemaError extends HubError {
  constructor(subject: string, cause: unknown) {
    super('ERR_INVALID_SCHEMA', `schema of ${subject} is not valid: ${messageOf(cause)}`, { cause });
  }
}

/** Thrown by a handler to fail the event now, without the retries that its `retry` allows. */
export class FatalError extends HubError {
  static {
    brand(FatalError, 'hubline.error.fatal');
  }

  constructor(message: string, options?: ErrorOptions) {
    super('ERR_FATAL', message, options);
  }
}

/** Returns `true` for an error that is never retried: a {@link FatalError}, or a `HubError` whose `fatal` is `true`. */
export function isFatal(error: unknown): boolean {
  return FatalError.is(error) || (HubError.is(error) && 'fatal' in error && error.fatal === true);
}

/** Thrown by a handler to set the delay before the next attempt, in place of the computed delay. */
export class RetryAfterError extends HubError {
  static {
    brand(RetryAfterError, 'hubline.error.retry-after');
  }

  readonly retryAfterMs: number;

  /** @param retryAfterMs milliseconds, from 0 to 1_000_000_000_000 */
  constructor(retryAfterMs: number, message: string = `retry after ${retryAfterMs} ms`, options?: ErrorOptions) {
    super('ERR_RETRY_AFTER', message, options);
    if (!(typeof retryAfterMs === 'number' && retryAfterMs >= 0 && retryAfterMs <= maxDurationMs)) {
      throw new InvalidOptionError('retryAfterMs', `milliseconds, from 0 to ${maxDurationMs}`, retryAfterMs);
    }
    this.retryAfterMs = retryAfterMs;
  }
}

/** Formats a value for an error message: short, on one line. Never throws. */
export function describe(value: unknown): string {
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'bigint') return `${value}n`;
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : 'an array';
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}

/** Describes a value without showing it. */
function describeType(value: unknown): string {
  return ['string', 'number', 'bigint', 'symbol'].includes(typeof value) ? `a ${typeof value}` : describe(value);
}

/** Formats a name for an error message: quoted, escaped, cut to 80 characters. */
export function quote(name: string): string {
  return JSON.stringify(name.length > 80 ? `${name.slice(0, 79)}…` : name);
}

/** Returns the message of a thrown value. Falls back to the error's name, so it is never empty. */
export function messageOf(thrown: unknown): string {
  const { name, message } = errorInfo(thrown);
  return message || name || 'Error';
}

/** The part of an error that is stored and sent: no stack, no cause, no custom fields. */
export interface ErrorInfo {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
}

const maxMessageLength = 1024;

/** Reads name, message and code of a thrown value, even if its getters throw. Each is cut to 1,024 characters. */
export function errorInfo(thrown: unknown): ErrorInfo {
  return cutErrorInfo(fullErrorInfo(thrown));
}

/** Reads name, message and code of a thrown value in full length, even if its getters throw. */
export function fullErrorInfo(thrown: unknown): ErrorInfo {
  try {
    if (typeof thrown === 'string') return { name: 'NonError', message: JSON.stringify(thrown) };
    if (!(thrown instanceof Error)) return { name: 'NonError', message: describe(thrown) };
    const info = { name: String(thrown.name), message: String(thrown.message) };
    const code = (thrown as { code?: unknown }).code;
    return typeof code === 'string' ? { ...info, code } : info;
  } catch {
    return { name: 'UnreadableError', message: 'the thrown value could not be read' };
  }
}

/** Cuts name, message and code to 1,024 characters each. */
export function cutErrorInfo<TInfo extends ErrorInfo>(info: TInfo): TInfo {
  const { name, message, code } = info;
  return { ...info, name: cut(name), message: cut(message), ...(code !== undefined && { code: cut(code) }) };
}

function cut(text: string): string {
  return text.length > maxMessageLength ? `${text.slice(0, maxMessageLength - 1)}…` : text;
}

/** Longest duration that every transport can store, in milliseconds: about 31 years. */
export const maxDurationMs = 1_000_000_000_000;
