import { cutErrorInfo, describe, type ErrorInfo, fullErrorInfo, HubError } from './errors.js';
import { isMadeByApplication, stackFrames } from './stack.js';

/**
 * Returns name, message and code of an error as they may leave the process, in place of the default ones. A result
 * without a property `code` leaves the code; `code: undefined` removes it.
 *
 * @param shown name, message and code after the default redaction, in full length: they are cut to 1,024 characters
 * after the call
 * @param thrown the thrown value; `undefined` for a failure that was recorded before, perhaps by another process
 */
export type Redact = (
  shown: ErrorInfo,
  thrown?: unknown,
) => Pick<ErrorInfo, 'name' | 'message'> & { readonly code?: string | undefined };

/** Decides what of an error leaves the process: to logs, spans, the dashboard, and the stored failure. */
export interface Redactor {
  /** Returns name, message and code of a thrown value. Never throws. */
  info(thrown: unknown): ErrorInfo;
  /** Returns a recorded failure with its name and message redacted again: an older version may have recorded it. */
  recorded<TFailure extends ErrorInfo>(failure: TFailure): TFailure;
  /** Returns an error for a log line: name, message, code, stack and causes, and nothing else that the error holds. */
  loggable(thrown: unknown): Error;
}

/** Maximum number of causes of an error that are shown or read. */
const maxCauses = 4;

/** Creates a redactor. @param redact hook of the application */
export function createRedactor(redact?: Redact): Redactor {
  function apply<TInfo extends ErrorInfo>(shown: TInfo, thrown: unknown): TInfo {
    if (redact === undefined) return cutErrorInfo(shown);
    const { name, message, code, ...rest } = shown;
    const before = { name, message, ...(code !== undefined && { code }) };
    // The other fields are those of the parameter.
    const withShown = (info: ErrorInfo): TInfo => cutErrorInfo({ ...rest, ...info } as TInfo);
    try {
      return withShown(checkShown(redact(before, thrown), code));
    } catch (error) {
      // The hook's own error may quote what it must not show.
      process.emitWarning(`redact failed with ${publicErrorInfo(error).name}; the message of a failure is withheld`);
      return withShown({ name, message: 'message withheld: redact failed' });
    }
  }

  const info = (thrown: unknown): ErrorInfo => apply(fullPublicInfo(thrown), thrown);

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

function define(error: Error, property: string, value: unknown): void {
  Object.defineProperty(error, property, { value, configurable: true, writable: true });
}

// Untyped code may return anything. A failure is not shown unless its redaction is valid.
function checkShown(result: unknown, codeBefore: string | undefined): ErrorInfo {
  const shown = Object(result) as Partial<Record<keyof ErrorInfo, unknown>>;
  const { name, message, code = 'code' in shown ? undefined : codeBefore } = shown;
  const isValid = typeof name === 'string' && typeof message === 'string';
  if (isValid && code === undefined) return { name, message };
  if (isValid && typeof code === 'string') return { name, message, code };
  throw new TypeError(`redact must return { name, message, code? }, all strings, got ${describe(result)}`);
}

/**
 * Returns name, message and code of a thrown value as they may leave the process. The message is the thrown one if the
 * application's code made the error. Other messages quote what was passed to the code that made them, such as a client,
 * a validator or the runtime: they are replaced by paths, codes and statuses. Never throws.
 */
export function publicErrorInfo(thrown: unknown): ErrorInfo {
  return cutErrorInfo(fullPublicInfo(thrown));
}

/** Returns what {@link publicErrorInfo} returns, in full length, for messages that are redacted later. */
export function fullPublicInfo(thrown: unknown): ErrorInfo {
  const info = fullErrorInfo(thrown);
  if (!(thrown instanceof Error)) return info;
  try {
    if (HubError.is(thrown)) return { ...info, message: thrown.publicMessage };
    const message = foreignMessage(thrown, info);
    return message === undefined ? info : withoutTexts(info, message);
  } catch {
    return { name: 'UnreadableError', message: 'message withheld: the error could not be read' };
  }
}

/** Returns a failure of other code: what it names may have been a server's text. */
function withoutTexts({ name, code }: ErrorInfo, message: string): ErrorInfo {
  const shownName = /^[\w$.[\] ]{1,80}$/.test(name) ? name : 'Error';
  return { name: shownName, message, ...(code !== undefined && isCode(code) && { code }) };
}

function isCode(text: string): boolean {
  return /^[\w.-]{1,64}$/.test(text);
}

/**
 * Properties of the errors of clients. The stack tells most of them apart; in an application that is bundled into one
 * file, clients have the application's frames. A class of the application that has a `status` alone is not a client's.
 */
const clientProperties = [
  '$metadata',
  'clientVersion',
  'cmd',
  'command',
  'config',
  'failures',
  'headers',
  'metadata',
  'options',
  'raw',
  'request',
  'requestBodyValues',
  'response',
  'responseBody',
  'responseCode',
  'responseHeaders',
  'severity',
  'spawnargs',
  'sql',
  'sqlMessage',
  'sqlState',
  'stderr',
];

const clientNames = /^(AI_|Fetch|Mongo|Prisma|Sqlite|Struct|Undici)/;

/** Returns the replacement of a message that other code wrote; `undefined` if the application wrote it. */
function foreignMessage(error: Error, { name, code, message }: ErrorInfo): string | undefined {
  const issues = issuesOf(error);
  if (issues !== undefined) return `${issues.length} schema issues${pathsOf(issues)} (messages withheld)`;
  if (name === 'SyntaxError') return 'a text could not be parsed (message withheld)';
  const shownCode = code !== undefined && isCode(code) ? code : undefined;
  // `spawn` is followed by the command.
  if ('syscall' in error) return `${/^\w*/.exec(String(error.syscall))?.[0] ?? ''} ${shownCode ?? 'failed'}`;
  if (name === 'ReplyError' || 'command' in error) {
    return withheld(/^[A-Z]+\b/.exec(message)?.[0]);
  }
  const isForeign =
    !isMadeByApplication(error) ||
    clientNames.test(name) ||
    clientProperties.some((property) => property in error) ||
    isNative(error, code) ||
    quotesValues(error);
  if (isForeign) return withheld(reasonOf(error));
  return undefined;
}

function withheld(reason: string | undefined): string {
  return reason === undefined ? 'message withheld' : `${reason} (message withheld)`;
}

/** Returns `true` for an error of native code in Node, such as `node:sqlite`: its first frame is that of the caller. */
function isNative(error: Error, code: string | undefined): boolean {
  return code?.startsWith('ERR_') === true && builtInErrors.has(error.constructor);
}

const builtInErrors: ReadonlySet<unknown> = new Set([Error, RangeError, SyntaxError, TypeError]);

/**
 * Returns `true` for a failed assertion with values in its message. Assertions hide their own frames, and those of Node
 * say if the application wrote the message.
 */
function quotesValues(error: Error): boolean {
  if (!error.name.includes('AssertionError')) return false;
  const { generatedMessage, operator } = error as { generatedMessage?: unknown; operator?: unknown };
  return generatedMessage !== false || /^(doesNot|ifError)/.test(String(operator));
}

/** Returns the status or the code of an error or of its nearest cause: `fetch` keeps the code of a failure in its cause. */
function reasonOf(error: Error, depth = 0): string | undefined {
  const status = statusOf(error);
  if (status !== undefined) return `status ${status}`;
  const { code } = fullErrorInfo(error);
  if (code !== undefined && isCode(code)) return code;
  return error.cause instanceof Error && depth < maxCauses ? reasonOf(error.cause, depth + 1) : undefined;
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
