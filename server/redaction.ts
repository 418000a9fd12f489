import { describe, type ErrorInfo, errorInfo, HubError } from './errors.js';

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

/**
 * Returns name, message and code of a thrown value as they may leave the process. The message is the thrown one if the
 * application's code wrote it. Messages of validators, parsers, clients and vendors quote what was sent to them: they
 * are replaced by paths, codes and statuses. Never throws.
 */
export function publicErrorInfo(thrown: unknown): ErrorInfo {
  const info = errorInfo(thrown);
  if (!(thrown instanceof Error)) return info;
  try {
    const message = HubError.is(thrown) ? thrown.publicMessage : foreignMessage(thrown, info);
    return message === undefined || message === thrown.message ? info : { ...info, message };
  } catch {
    return { name: info.name, message: 'message withheld: the error could not be read' };
  }
}

/**
 * Returns the frames of an error's stack, without its message. Messages may have several lines, and lines that look
 * like frames.
 */
export function stackFrames(error: Error): string {
  try {
    const { stack, message } = error;
    if (typeof stack !== 'string') return '';
    const at = stack.indexOf(message);
    const lines = (at === -1 ? stack : stack.slice(at + message.length)).split('\n');
    const last = lines.findLastIndex((line) => !isFrame(line));
    return lines.slice(last + 1).join('\n');
  } catch {
    return '';
  }
}

function isFrame(line: string): boolean {
  return /^ {4}at \S.{0,500}$/.test(line);
}

/** Properties of a client's errors. A class of the application that has a `status` alone is not a client's. */
const clientProperties = [
  '$metadata',
  'clientVersion',
  'command',
  'config',
  'headers',
  'metadata',
  'options',
  'raw',
  'request',
  'requestBodyValues',
  'response',
  'responseBody',
  'responseHeaders',
  'severity',
  'sql',
  'sqlState',
];

/** Returns the replacement of a message that another library wrote; `undefined` if the application wrote it. */
function foreignMessage(error: Error, { name, code, message }: ErrorInfo): string | undefined {
  const issues = issuesOf(error);
  if (issues !== undefined) return `${issues.length} schema issues${pathsOf(issues)} (messages withheld)`;
  if (name === 'SyntaxError') return 'a text could not be parsed (message withheld)';
  if ('syscall' in error) return `${String(error.syscall)} ${code ?? 'failed'}`;
  // Node appends the value, as in `Received 'text'`.
  if (code?.startsWith('ERR_')) return message.split(/[.,;]? Received /)[0];
  if (name === 'ReplyError' || 'command' in error)
    return `${/^[A-Z]+/.exec(message)?.[0] ?? 'error'} (message withheld)`;
  const status = statusOf(error);
  if (/^(AI_|Mongo|Prisma|Sqlite)/.test(name) || clientProperties.some((property) => property in error)) {
    return `${status === undefined ? (code ?? 'no code') : `status ${status}`} (message withheld)`;
  }
  return undefined;
}

function statusOf(error: Error): number | undefined {
  const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> => Object(value);
  const { statusCode, status, response, $metadata } = fieldsOf(error);
  return [statusCode, status, fieldsOf(response)['status'], fieldsOf($metadata)['httpStatusCode']].find(
    (value) => typeof value === 'number',
  );
}

/** Lists of issues in the errors of zod, valibot and Standard Schema; of joi; of ajv and yup. */
function issuesOf(error: Error): readonly unknown[] | undefined {
  const { issues, details, errors, inner } = Object(error) as Readonly<Record<string, unknown>>;
  if (Array.isArray(issues)) return issues;
  if (!/Validation|Zod|Valid?i|Ark/.test(error.name)) return undefined;
  return [details, inner, errors].find((list) => Array.isArray(list));
}

const shownPaths = 3;

function pathsOf(issues: readonly unknown[]): string {
  const paths = issues.slice(0, shownPaths).flatMap((issue) => {
    const { path } = Object(issue) as { path?: unknown };
    return Array.isArray(path) && path.length > 0 ? publicPath(path.map(formatSegment).join('')) : [];
  });
  return paths.length === 0 ? '' : ` at ${[...new Set(paths)].join(', ')}`;
}

function formatSegment(segment: unknown): string {
  const key: unknown = typeof segment === 'object' && segment !== null && 'key' in segment ? segment.key : segment;
  return formatPathSegment(typeof key === 'number' || typeof key === 'symbol' ? key : String(key));
}

/** Formats one segment of a path such as `payload.items[2]["a b"]`, including its separator. */
export function formatPathSegment(key: PropertyKey): string {
  if (typeof key === 'symbol') return `[${String(key)}]`;
  // A key of the payload may be as long as the payload, and is repeated in every issue below it.
  const name = cutKey(String(key));
  if (/^\d+$/.test(name)) return `[${name}]`;
  return /^[\p{ID_Start}_$][\p{ID_Continue}$]*$/u.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

const maxKeyLength = 80;

function cutKey(key: string): string {
  return key.length > maxKeyLength ? `${key.slice(0, maxKeyLength - 1)}…` : key;
}

/** Segments of a formatted path: `.name`, or `["any name"]`. */
const namedSegment = /\.([^.[\]]+)|\[("(?:[^"\\]|\\.)*")\]/g;

/**
 * Returns a path without the keys that may be data, such as an address as the key of a record: each is replaced by `*`.
 *
 * @param isDeclared returns `true` for a key that the code declares; by default, for one that looks like an identifier
 */
export function publicPath(path: string, isDeclared: (key: string) => boolean = looksDeclared): string {
  return path.replace(namedSegment, (segment, plain: string | undefined, quoted: string | undefined) => {
    const key: unknown = plain ?? (quoted === undefined ? undefined : JSON.parse(quoted));
    return typeof key === 'string' && isDeclared(key) ? segment : '.*';
  });
}

function looksDeclared(key: string): boolean {
  return /^[A-Za-z_$][\w$]{0,39}$/.test(key);
}
