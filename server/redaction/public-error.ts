import { type ErrorInfo, errorInfo, HubError } from '../errors.js';
import { formatPathSegment, publicPath } from './format-path.js';

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
