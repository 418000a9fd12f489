import { describe, type ErrorInfo } from '../errors.js';
import { publicErrorInfo, stackFrames } from './public-error.js';

/**
 * Returns the name and the message of an error as they may leave the process, in place of the default ones.
 *
 * @param shown name, message and code after the default redaction
 * @param thrown the thrown value; `undefined` for a failure that was recorded before, perhaps by another process
 */
export type Redact = (shown: ErrorInfo, thrown?: unknown) => Pick<ErrorInfo, 'name' | 'message'>;

/** Decides what of an error leaves the process: to logs, spans, the dashboard, and the stored failure. */
export interface Redactor {
  /** Returns name, message and code of a thrown value. Never throws. */
  info(thrown: unknown): ErrorInfo;
  /** Returns a recorded failure with its name and message redacted again: an older version may have recorded it. */
  recorded<TFailure extends ErrorInfo>(failure: TFailure): TFailure;
  /** Returns an error for a log line: name, message, code, stack and causes, and nothing else that the error holds. */
  loggable(thrown: unknown): Error;
}

/** Creates a redactor. @param redact hook of the application */
export function createRedactor(redact?: Redact): Redactor {
  function apply<TInfo extends ErrorInfo>(shown: TInfo, thrown: unknown): TInfo {
    if (redact === undefined) return shown;
    try {
      const { name, message, code } = shown;
      return { ...shown, ...checkShown(redact({ name, message, ...(code !== undefined && { code }) }, thrown)) };
    } catch (error) {
      // The hook's own error may quote what it must not show.
      process.emitWarning(`redact failed with ${publicErrorInfo(error).name}; the message of a failure is withheld`);
      return { ...shown, message: 'message withheld: redact failed' };
    }
  }

  const info = (thrown: unknown): ErrorInfo => apply(publicErrorInfo(thrown), thrown);

  function loggable(thrown: unknown, depth = 0): Error {
    const { name, message, code } = info(thrown);
    const error = new Error(message);
    const frames = thrown instanceof Error ? stackFrames(thrown) : '';
    define(error, 'name', name);
    define(error, 'stack', frames === '' ? `${name}: ${message}` : `${name}: ${message}\n${frames}`);
    // Serializers such as pino's read the class from here, and else the name.
    define(error, 'constructor', undefined);
    if (code !== undefined) Object.assign(error, { code });
    const cause = thrown instanceof Error ? thrown.cause : undefined;
    if (cause instanceof Error && depth < maxCauses) define(error, 'cause', loggable(cause, depth + 1));
    return error;
  }

  return { info, recorded: (failure) => apply(failure, undefined), loggable: (thrown) => loggable(thrown) };
}

const maxCauses = 4;

function define(error: Error, property: string, value: unknown): void {
  Object.defineProperty(error, property, { value, configurable: true, writable: true });
}

// Untyped code may return anything. A failure is not shown unless its redaction is valid.
function checkShown(result: unknown): Pick<ErrorInfo, 'name' | 'message'> {
  const { name, message } = Object(result) as Partial<Record<'name' | 'message', unknown>>;
  if (typeof name === 'string' && typeof message === 'string') return { name, message };
  throw new TypeError(`redact must return { name, message }, both strings, got ${describe(result)}`);
}
