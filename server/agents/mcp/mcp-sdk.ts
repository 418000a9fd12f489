import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { MissingPackageError } from '../../transports/errors.js';
import { version } from '../../version.js';
import { abortable } from '../abortable.js';
import { limitedResponse, type ResponseLimit } from '../limited-response.js';
import { jsonOf } from './mcp-content.js';
import type { McpAuthProvider, McpHttpServer, McpServer } from './mcp-server.js';
import { ProcessTransport } from './process-transport.js';

/** Events of a session. */
export interface SessionEvents {
  readonly onToolsChanged: () => void;
  /** The connection is closed: by the server, or because {@link McpSession.close} was called. */
  readonly onClosed: () => void;
  /** A part of the connection failed. The server may be lost. */
  readonly onTrouble: () => void;
}

/** Failure of a request that the server did not answer. */
export interface RequestFailure {
  /** Words for the message of an error, without text of the server. */
  readonly reason: string;
  readonly statusCode?: number;
  /** The server did not receive the request. */
  readonly isUnreached: boolean;
  /** The session is over: another request would fail as well. */
  readonly isLost: boolean;
  /** Another attempt would fail as well. */
  readonly isFinal: boolean;
  /** The server answered with more than can be read, and would again. */
  readonly isOversized?: boolean;
  /** A user has to grant access first. */
  readonly needsGrant?: boolean;
  /** Error of the application's own code. */
  readonly cause?: unknown;
}

/** Kinds of lists of a server. */
export type McpList = 'tools' | 'resources' | 'prompts';

/** One connection to a server, from its handshake to its end. */
export interface McpSession {
  /** Returns a list as the server describes it, empty if it has none. Nothing of it is checked. */
  list(kind: McpList): Promise<unknown[]>;
  /** Returns the result as the server sent it. */
  request(method: string, params: object, timeoutMs: number): Promise<Record<string, unknown>>;
  /** Returns the result as the server sent it. */
  callTool(name: string, input: unknown, callKey: string, signal: AbortSignal): Promise<Record<string, unknown>>;
  ping(): Promise<void>;
  /** Last token that was sent to the server, for texts of the server that quote it. */
  readonly token: string | undefined;
  /** Ends the session and the server's process. */
  close(): Promise<void>;
}

/** The part of `@modelcontextprotocol/sdk` that is used. */
export interface McpSdk {
  /**
   * Starts or reaches a server. Rejects with any error: see {@link explain}. A process has ended then.
   *
   * @param signal ends the attempt
   */
  open(server: McpServer, events: SessionEvents, signal: AbortSignal): Promise<McpSession>;
  /**
   * Exchanges the code of a granted access for tokens, which the server's `authProvider` receives. Rejects with any
   * error: see {@link explain}.
   */
  authorize(server: McpHttpServer, code: string): Promise<void>;
  /** Returns `true` for an error that the server may have answered with. */
  isAnswer(error: unknown): boolean;
  /** Returns the failure of a request; `undefined` if the server answered the request with an error. */
  explain(error: unknown): RequestFailure | undefined;
}

const maxPages = 100;
/** Number of characters after which no further page of a list is requested. */
const maxListChars = 10_000_000;
/** Time for a handshake or a whole list of tools. */
const answerTimeoutMs = 60_000;
const pingTimeoutMs = 5_000;
/** Longest delay of a timer. Timeouts of calls are those of the tools. */
const noTimeoutMs = 2 ** 31 - 1;
/** Time for a server to end its session. */
const endTimeoutMs = 2_000;

/** Loads the SDK, an optional dependency, at first use. @throws {MissingPackageError} */
export async function loadMcpSdk(): Promise<McpSdk> {
  const { Client, getDefaultEnvironment, stdio, http, oauth, types, OAuthError } = await importSdk();

  async function open(server: McpServer, events: SessionEvents, signal: AbortSignal): Promise<McpSession> {
    let isOversized = false;
    const client = new Client({ name: 'hubline', version }, { capabilities: {} });
    const endOversized = (): void => {
      isOversized = true;
      void transport.close().catch(() => {});
    };
    let token: string | undefined;
    const onToken = (sent: string): void => {
      token = sent;
    };
    const transport = transportOf(server, endOversized, onToken);
    client.setNotificationHandler(types.ToolListChangedNotificationSchema, events.onToolsChanged);
    client.onclose = events.onClosed;
    client.onerror = ({ message }) => {
      // The transport closes the connection then.
      if (message.startsWith('ReadBuffer exceeded')) isOversized = true;
      else events.onTrouble();
    };
    const orOversized = async <T>(request: () => Promise<T>): Promise<T> => {
      try {
        return await request();
      } catch (error) {
        throw isOversized ? new OversizedMessageError() : error;
      }
    };
    await orOversized(() => connect(client, transport, signal));
    const request = (method: string, params: object, options: RequestOptions) =>
      orOversized(() => client.request({ method, params: { ...params } }, types.ResultSchema, options));
    return {
      async list(kind) {
        try {
          return await readList(kind, (params, options) => request(`${kind}/list`, params, options));
        } catch (error) {
          const isUnknown = error instanceof types.McpError && error.code === types.ErrorCode.MethodNotFound;
          if (isUnknown && client.getServerCapabilities()?.[kind] === undefined) return [];
          throw error;
        }
      },
      request: (method, params, timeout) => request(method, params, { timeout }),
      callTool: (name, input, callKey, callSignal) => {
        const params = { name, arguments: input, _meta: { 'hubline/callKey': callKey } };
        return request('tools/call', params, { signal: callSignal, timeout: noTimeoutMs });
      },
      async ping() {
        await client.ping({ timeout: pingTimeoutMs });
      },
      get token() {
        return token;
      },
      async close() {
        if ('terminateSession' in transport) await settled(transport.terminateSession(), endTimeoutMs);
        await transport.close();
      },
    };
  }

  function transportOf(server: McpServer, onOversized: () => void, onToken: (token: string) => void) {
    if ('url' in server) {
      const { authProvider } = server;
      return new http.StreamableHTTPClientTransport(new URL(server.url), {
        ...(authProvider && { authProvider: markFailures(authProvider) }),
        fetch: serverFetch(server, onOversized, onToken),
      });
    }
    return new ProcessTransport(server, {
      buffer: new stdio.ReadBuffer({ maxBufferSize: maxMessageBytes }),
      serialize: stdio.serializeMessage,
      baseEnv: getDefaultEnvironment(),
    });
  }

  async function authorize(server: McpHttpServer, authorizationCode: string): Promise<void> {
    const { url, authProvider } = server;
    if (authProvider === undefined) throw new Error('no authProvider');
    const fetchFn = serverFetch(server);
    // A server may name its metadata only in the answer that refuses a request.
    const refusal = await fetchFn(url, { headers: { accept: 'text/event-stream' } });
    await refusal.body?.cancel();
    const { resourceMetadataUrl } = oauth.extractWWWAuthenticateParams(refusal);
    const result = await oauth.auth(markFailures(authProvider), {
      serverUrl: url,
      authorizationCode,
      fetchFn,
      ...(resourceMetadataUrl && { resourceMetadataUrl }),
    });
    if (result !== 'AUTHORIZED') throw new oauth.UnauthorizedError();
  }

  /** Rejects once the transport is closed, if the server does not shake hands in time. */
  async function connect(client: Client, transport: Transport, signal: AbortSignal): Promise<void> {
    const late = new AbortController();
    // The SDK sends its last message of the handshake without a timeout.
    const giveUp = (): void => late.abort(new types.McpError(types.ErrorCode.RequestTimeout, 'no handshake'));
    const timer = setTimeout(giveUp, answerTimeoutMs);
    try {
      const connected = client.connect(transport, { timeout: answerTimeoutMs });
      await abortable(connected, AbortSignal.any([signal, late.signal]));
    } catch (error) {
      await transport.close();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  function explain(error: unknown): RequestFailure | undefined {
    if (error instanceof OversizedMessageError) return { ...lost(oversized), isOversized: true };
    if (error instanceof http.StreamableHTTPError) return explainStatus(error.code);
    if (error instanceof oauth.UnauthorizedError)
      return { ...ungranted('requires an authorization'), needsGrant: true };
    // Its text is that of the authorization server.
    if (error instanceof OAuthError)
      return ungranted(`was refused by its authorization server (${codeOfGrant(error)})`);
    if (error instanceof AuthProviderError)
      return { ...ungranted('has an authProvider that failed'), cause: error.cause };
    if (error instanceof types.McpError) {
      if (error.code === types.ErrorCode.ConnectionClosed) return lost('closed the connection');
      return error.code === types.ErrorCode.RequestTimeout ? lost('did not answer in time') : undefined;
    }
    return explainSystemError(error);
  }

  return { open, authorize, explain, isAnswer: (error) => error instanceof types.McpError };
}

async function importSdk() {
  try {
    const [{ Client }, { getDefaultEnvironment }, stdio, http, oauth, { OAuthError }, types] = await Promise.all([
      import('@modelcontextprotocol/sdk/client/index.js'),
      import('@modelcontextprotocol/sdk/client/stdio.js'),
      import('@modelcontextprotocol/sdk/shared/stdio.js'),
      import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
      import('@modelcontextprotocol/sdk/client/auth.js'),
      import('@modelcontextprotocol/sdk/server/auth/errors.js'),
      import('@modelcontextprotocol/sdk/types.js'),
    ]);
    return { Client, getDefaultEnvironment, stdio, http, oauth, types, OAuthError };
  } catch (cause) {
    throw new MissingPackageError('mcpTools', '@modelcontextprotocol/sdk@1', cause);
  }
}

type RequestOptions = NonNullable<Parameters<Client['ping']>[0]>;

/** Reads the pages of a list. Ends early at a limit, or if the server repeats a page. */
async function readList(
  kind: McpList,
  requestPage: (params: object, options: RequestOptions) => Promise<Readonly<Record<string, unknown>>>,
): Promise<unknown[]> {
  const startedAt = performance.now();
  const entries: unknown[] = [];
  const cursors = new Set<unknown>();
  let cursor: unknown;
  let chars = 0;
  do {
    cursors.add(cursor);
    const timeout = Math.max(1, answerTimeoutMs - (performance.now() - startedAt));
    const page = await requestPage(cursor === undefined ? {} : { cursor }, { timeout });
    const listed = page[kind];
    if (!Array.isArray(listed)) throw new Error(`no list of ${kind}`);
    for (const entry of listed) entries.push(entry);
    chars += (jsonOf(page) ?? '').length;
    cursor = page['nextCursor'];
  } while (typeof cursor === 'string' && !cursors.has(cursor) && cursors.size < maxPages && chars < maxListChars);
  return entries;
}

/** Waits until a promise settles, but not for longer than `timeoutMs`. */
async function settled(promise: Promise<unknown>, timeoutMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeoutMs);
  });
  await Promise.race([promise.catch(() => {}), late]);
  clearTimeout(timer);
}

function explainStatus(statusCode: number | undefined): RequestFailure {
  if (statusCode === undefined || statusCode < 0) return lost('answered with an unexpected content type');
  // A server that was restarted does not know the session: 404 by the protocol, 400 by the first official servers.
  const isLost = statusCode === 400 || statusCode === 404;
  return {
    reason: `answered with status ${statusCode}`,
    statusCode,
    isUnreached: isLost,
    isLost,
    isFinal: statusCode < 500 && statusCode !== 429,
  };
}

const unreachedCodes = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'UND_ERR_CONNECT_TIMEOUT'];
const spawnCodes = ['ENOENT', 'EACCES', 'ENOTDIR', 'EPERM'];

function explainSystemError(error: unknown): RequestFailure {
  const code = codeOf(error) ?? (error instanceof Error ? codeOf(error.cause) : undefined);
  if (code === undefined) {
    const isUnsent = error instanceof Error && error.message === 'Not connected';
    return { ...lost(isUnsent ? 'is not connected' : 'broke the protocol'), isUnreached: isUnsent };
  }
  const isSpawn = spawnCodes.includes(code);
  const reason = isSpawn ? `cannot be started (${code})` : `cannot be reached (${code})`;
  return { reason, isUnreached: isSpawn || unreachedCodes.includes(code), isLost: true, isFinal: isSpawn };
}

function codeOf(error: unknown): string | undefined {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^(E[A-Z0-9]+|UND_ERR_[A-Z_]+)$/.test(code) ? code : undefined;
}

function ungranted(reason: string): RequestFailure {
  return { reason, isUnreached: true, isLost: true, isFinal: true };
}

/** Returns the code of an OAuth error, such as `invalid_grant`. */
function codeOfGrant({ errorCode }: { readonly errorCode: string }): string {
  return /^[a-z_]{1,40}$/.test(errorCode) ? errorCode : 'unknown code';
}

/** An `authProvider` failed, whose errors the SDK passes on like those of a server. */
class AuthProviderError extends Error {}

/** Returns the provider with its failures marked. */
function markFailures(provider: McpAuthProvider): OAuthClientProvider {
  const marked = new Proxy(provider, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]) => {
        try {
          return await value.apply(target, args);
        } catch (cause) {
          throw new AuthProviderError('authProvider failed', { cause });
        }
      };
    },
  });
  // The user's object has the SDK's type, which this package does not show: the SDK is optional.
  return marked as unknown as OAuthClientProvider;
}

function lost(reason: string): RequestFailure {
  return { reason, isUnreached: false, isLost: true, isFinal: false };
}

/** Maximum size of one message of a server. */
const maxMessageBytes: number = 10 * 1024 * 1024;

/** Part of a message about {@link OversizedMessageError}. */
const oversized = 'sent a message of more than 10 MiB';

/** A server sent a message that is too long to be read. */
class OversizedMessageError extends Error {}

/**
 * Returns the `fetch` of a server: its headers reach its own origin only, and not its authorization server. A response
 * ends with an error at the limit, because the SDK reads it into memory whole.
 *
 * @param onOversized is called at the limit, because the SDK lets a request wait whose stream of events broke
 * @param onToken receives the tokens that are sent to the server
 */
function serverFetch(
  { url, headers }: McpHttpServer,
  onOversized: () => void = () => {},
  onToken: (token: string) => void = () => {},
): (input: string | URL, init?: RequestInit) => Promise<Response> {
  const { origin } = new URL(url);
  const limit: ResponseLimit = {
    maxBytes: maxMessageBytes,
    isPerEvent: true,
    onExceeded: () => {
      onOversized();
      return new OversizedMessageError();
    },
  };
  return async (input, init) => {
    const sent = new Headers(init?.headers);
    if (new URL(input).origin === origin) {
      const [scheme, token] = sent.get('authorization')?.split(' ') ?? [];
      if (scheme === 'Bearer' && token !== undefined) onToken(token);
      for (const [name, value] of Object.entries(headers ?? {})) sent.set(name, value);
    }
    return limitedResponse(await fetch(input, { ...init, headers: sent }), limit);
  };
}
