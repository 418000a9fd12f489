import { OptionChecker } from '../../options.js';

/** MCP server that is reached over streamable HTTP. */
export interface McpHttpServer {
  /** URL of the endpoint, without credentials. */
  url: string | URL;
  /** Headers of every request, such as `authorization`. They are sent to the origin of `url` only. */
  headers?: Readonly<Record<string, string>>;
}

/** MCP server that is started as a child process and reached over its standard input and output. */
export interface McpProcessServer {
  /** Program to start, without a shell. */
  command: string;
  args?: readonly string[];
  /**
   * Environment variables of the process, added to `HOME`, `LOGNAME`, `PATH`, `SHELL`, `TERM` and `USER` of this
   * process. It receives no others.
   */
  env?: Readonly<Record<string, string>>;
  /** Working directory. @default that of this process */
  cwd?: string;
  /** Destination of the standard error of the process. @default 'ignore' */
  stderr?: 'ignore' | 'inherit';
}

/** MCP server: an HTTP endpoint, or a program to start. */
export type McpServer = McpHttpServer | McpProcessServer;

/** Checks where to find a server. Errors never show a value: it may hold a secret. @throws {InvalidOptionError} */
export function checkMcpServer(server: McpServer): void {
  const owner = 'mcpTools';
  if (typeof server === 'object' && server !== null && 'url' in server) {
    const check = new OptionChecker(server, ['url', 'headers'], owner, undefined, 'type');
    check.that(isHttpUrl(server.url), 'url', 'an http or https URL without credentials', server.url);
    check.that(areHeaders(server.headers), 'headers', 'an object of valid header values', server.headers);
    return;
  }
  const check = new OptionChecker(server, ['command', 'args', 'env', 'cwd', 'stderr'], owner, undefined, 'type');
  const { command, args, env, cwd, stderr } = server;
  check.that(typeof command === 'string' && command !== '', 'command or url', 'a non-empty string', command);
  const isList = args === undefined || (Array.isArray(args) && args.every((arg) => typeof arg === 'string'));
  check.that(isList, 'args', 'an array of strings', args);
  check.that(env === undefined || isRecordOfStrings(env), 'env', 'an object of strings', env);
  check.string('cwd', cwd);
  check.that(stderr === undefined || ['ignore', 'inherit'].includes(stderr), 'stderr', 'ignore or inherit', stderr);
}

/** Returns a name of the server for errors and logs: its command or the origin of its URL, which hold no secrets. */
export function labelOf(server: McpServer): string {
  return 'url' in server ? new URL(server.url).origin : server.command;
}

/** Returns the values that errors must not show: those of headers and environment variables, longest first. */
export function secretsOf(server: McpServer): string[] {
  const values = Object.values(('url' in server ? server.headers : server.env) ?? {});
  // A scheme such as `Bearer` precedes the secret, and servers quote the secret alone.
  const parts = values.flatMap((value) => [value, ...value.split(/\s+/)]);
  return [...new Set(parts)].filter((part) => part.length >= minSecretLength).sort((a, b) => b.length - a.length);
}

/** Shorter values, such as `en` or `8080`, occur in any text. */
const minSecretLength = 6;

function isHttpUrl(value: unknown): boolean {
  if (!(value instanceof URL) && typeof value !== 'string') return false;
  try {
    const { protocol, username, password } = new URL(value);
    return /^https?:$/.test(protocol) && username === '' && password === '';
  } catch {
    return false;
  }
}

function areHeaders(value: unknown): boolean {
  if (value === undefined) return true;
  if (!isRecordOfStrings(value)) return false;
  try {
    new Headers(value);
    return true;
  } catch {
    return false;
  }
}

function isRecordOfStrings(value: unknown): value is Record<string, string> {
  return (
    typeof value === 'object' && value !== null && Object.values(value).every((entry) => typeof entry === 'string')
  );
}
