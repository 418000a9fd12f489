/**
 * Every failure has its class. `code` is stable and meant for programs; `message` names the value
 * that was wrong and the way out, and is meant for people.
 *
 * @module
 */

/** Base of every error that Hubline throws or records. */
export class HubError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** An option has the wrong type or range. Thrown where the option is given, never later. */
export class InvalidOptionError extends HubError {
  constructor(option: string, expected: string, got: unknown) {
    super('ERR_INVALID_OPTION', `${option} must be ${expected}, got ${describe(got)}`);
  }
}

/** Something of this name is registered already. */
export class DuplicateNameError extends HubError {
  constructor(kind: string, name: string) {
    super('ERR_DUPLICATE_NAME', `${kind} ${quote(name)} is registered already; names are unique in a hub`);
  }
}

/** One thing that a schema found wrong. */
export interface SchemaIssue {
  /** Such as `payload.items[2].price`. */
  readonly path: string;
  readonly message: string;
}

/** A schema is itself wrong. Thrown where it is given. */
export class InvalidSchemaError extends HubError {
  constructor(subject: string, cause: unknown) {
    super('ERR_INVALID_SCHEMA', `schema of ${subject} is not valid: ${messageOf(cause)}`, { cause });
  }
}

/** Thrown by a handler: the event fails now, whatever its `retry` says. */
export class FatalError extends HubError {
  constructor(message: string, options?: ErrorOptions) {
    super('ERR_FATAL', message, options);
  }
}

/** Whether a failure is terminal whatever `retry` says: a {@link FatalError}, or an error whose `fatal` is true. */
export function isFatal(error: unknown): boolean {
  return error instanceof FatalError || (error instanceof HubError && 'fatal' in error && error.fatal === true);
}

/** Thrown by a handler: the next attempt starts after `retryAfterMs`, in place of the computed delay. */
export class RetryAfterError extends HubError {
  readonly retryAfterMs: number;

  /** @param retryAfterMs milliseconds, 0 or more */
  constructor(retryAfterMs: number, message: string = `retry after ${retryAfterMs} ms`, options?: ErrorOptions) {
    super('ERR_RETRY_AFTER', message, options);
    if (!(Number.isFinite(retryAfterMs) && retryAfterMs >= 0)) {
      throw new InvalidOptionError('retryAfterMs', 'a finite number of milliseconds, 0 or more', retryAfterMs);
    }
    this.retryAfterMs = retryAfterMs;
  }
}

/** A value as an error message shows it: short, on one line, and never throwing. */
export function describe(value: unknown): string {
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object';
  return String(value);
}

/** A name as an error message shows it: quoted, escaped, cut to 80 characters. */
export function quote(name: string): string {
  return JSON.stringify(name.length > 80 ? `${name.slice(0, 79)}…` : name);
}

/** The message of anything thrown, never empty: of an error without one its name. */
export function messageOf(thrown: unknown): string {
  const { name, message } = errorInfo(thrown);
  return message || name || 'Error';
}

/** What is kept and sent of an error: no stack, no cause, no own fields. */
export interface ErrorInfo {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
}

const maxMessageLength = 1024;

/** Reads name, message and code of anything thrown, even where its own getters throw. */
export function errorInfo(thrown: unknown): ErrorInfo {
  try {
    if (!(thrown instanceof Error)) return { name: 'NonError', message: cut(describe(thrown)) };
    const info = { name: cut(String(thrown.name)), message: cut(String(thrown.message)) };
    const code = (thrown as { code?: unknown }).code;
    return typeof code === 'string' ? { ...info, code: cut(code) } : info;
  } catch {
    return { name: 'UnreadableError', message: 'the thrown value could not be read' };
  }
}

function cut(text: string): string {
  return text.length > maxMessageLength ? `${text.slice(0, maxMessageLength - 1)}…` : text;
}
