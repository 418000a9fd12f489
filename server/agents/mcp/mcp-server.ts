import { OptionChecker } from '../../options.js';

/** MCP server that is reached over streamable HTTP. */
export interface McpHttpServer {
  /** URL of the endpoint, without credentials. */
  url: string | URL;
  /** Headers of every request, such as `authorization`. They are sent to the origin of `url` only. */
  headers?: Readonly<Record<string, string>>;
  /**
   * OAuth client: an `OAuthClientProvider` of `@modelcontextprotocol/sdk`, which stores tokens and sends a user to the
   * page that grants them. The connection refreshes tokens by itself. @default none
   */
  authProvider?: McpAuthProvider;
}

/**
 * OAuth client of an MCP server. `OAuthClientProvider` of `@modelcontextprotocol/sdk` defines its types and further
 * methods.
 */
export interface McpAuthProvider {
  /** Address to which the authorization server sends a user back. */
  readonly redirectUrl: string | URL | undefined;
  /** Description of this client for its registration. */
  readonly clientMetadata: object;
  /** Returns the registration of this client, or `undefined` if it has to be registered. */
  clientInformation(): unknown;
  /** Returns the stored tokens, or `undefined` if there are none. */
  tokens(): unknown;
  /** Stores tokens in place of those that were stored. */
  saveTokens(tokens: never): void | Promise<void>;
  /** Receives the page on which a user grants access. Called again by each attempt until access is granted. */
  redirectToAuthorization(authorizationUrl: URL): void | Promise<void>;
  /** Stores the secret that proves that the same client ends an authorization. */
  saveCodeVerifier(codeVerifier: string): void | Promise<void>;
  /** Returns the secret that was stored. */
  codeVerifier(): string | Promise<string>;
}

const authMethods: readonly (keyof McpAuthProvider)[] = [
  ...(['clientInformation', 'tokens', 'saveTokens', 'redirectToAuthorization', 'saveCodeVerifier'] as const),
  'codeVerifier',
];

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
export function checkMcpServer(server: McpServer, owner = 'mcpTools'): void {
  if (typeof server === 'object' && server !== null && 'url' in server) {
    const { url, headers, authProvider } = server;
    const check = new OptionChecker(server, ['url', 'headers', 'authProvider'], owner, undefined, 'type');
    check.that(isHttpUrl(url), 'url', 'an http or https URL without credentials', url);
    check.that(areHeaders(headers), 'headers', 'an object of valid header values', headers);
    check.methods('authProvider', authProvider, authMethods);
    const isDouble = authProvider !== undefined && new Headers(headers).has('authorization');
    check.that(!isDouble, 'headers', 'without authorization, which authProvider sets', headers);
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
