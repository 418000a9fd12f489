import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { MissingPackageError } from '../../transports/errors.js';
import { version } from '../../version.js';
import { abortable } from '../abortable.js';
import { limitedResponse, type ResponseLimit } from '../limited-response.js';
import { jsonOf } from './mcp-content.js';
import type { McpServer } from './mcp-server.js';
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
}

/** One connection to a server, from its handshake to its end. */
export interface McpSession {
  /** Returns the tools as the server describes them. Nothing of them is checked. */
  listTools(): Promise<unknown[]>;
  /** Returns the result as the server sent it. */
  callTool(name: string, input: unknown, callKey: string, signal: AbortSignal): Promise<Record<string, unknown>>;
  ping(): Promise<void>;
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
  const { Client, getDefaultEnvironment, stdio, http, types } = await importSdk();

  async function open(server: McpServer, events: SessionEvents, signal: AbortSignal): Promise<McpSession> {
    let isOversized = false;
    const client = new Client({ name: 'hubline', version }, { capabilities: {} });
    const endOversized = (): void => {
      isOversized = true;
      void transport.close().catch(() => {});
    };
    const transport = transportOf(server, endOversized);
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
      listTools: () => listTools((params, options) => request('tools/list', params, options)),
      callTool: (name, input, callKey, callSignal) => {
        const params = { name, arguments: input, _meta: { 'hubline/callKey': callKey } };
        return request('tools/call', params, { signal: callSignal, timeout: noTimeoutMs });
      },
      async ping() {
        await client.ping({ timeout: pingTimeoutMs });
      },
      async close() {
        if ('terminateSession' in transport) await settled(transport.terminateSession(), endTimeoutMs);
        await transport.close();
      },
    };
  }

  function transportOf(server: McpServer, onOversized: () => void) {
    if ('url' in server) {
      return new http.StreamableHTTPClientTransport(new URL(server.url), {
        requestInit: { headers: { ...server.headers } },
        fetch: limitedFetch(onOversized),
      });
    }
    return new ProcessTransport(server, {
      buffer: new stdio.ReadBuffer({ maxBufferSize: maxMessageBytes }),
      serialize: stdio.serializeMessage,
      baseEnv: getDefaultEnvironment(),
    });
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
    if (error instanceof types.McpError) {
      if (error.code === types.ErrorCode.ConnectionClosed) return lost('closed the connection');
      return error.code === types.ErrorCode.RequestTimeout ? lost('did not answer in time') : undefined;
    }
    return explainSystemError(error);
  }

  return { open, explain, isAnswer: (error) => error instanceof types.McpError };
}

async function importSdk() {
  try {
    const [{ Client }, { getDefaultEnvironment }, stdio, http, types] = await Promise.all([
      import('@modelcontextprotocol/sdk/client/index.js'),
      import('@modelcontextprotocol/sdk/client/stdio.js'),
      import('@modelcontextprotocol/sdk/shared/stdio.js'),
      import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
      import('@modelcontextprotocol/sdk/types.js'),
    ]);
    return { Client, getDefaultEnvironment, stdio, http, types };
  } catch (cause) {
    throw new MissingPackageError('mcpTools', '@modelcontextprotocol/sdk@1', cause);
  }
}

type RequestOptions = NonNullable<Parameters<Client['ping']>[0]>;

/** Reads the pages of a list. Ends early at a limit, or if the server repeats a page. */
async function listTools(
  requestPage: (params: object, options: RequestOptions) => Promise<Readonly<Record<string, unknown>>>,
): Promise<unknown[]> {
  const startedAt = performance.now();
  const tools: unknown[] = [];
  const cursors = new Set<unknown>();
  let cursor: unknown;
  let chars = 0;
  do {
    cursors.add(cursor);
    const timeout = Math.max(1, answerTimeoutMs - (performance.now() - startedAt));
    const page = await requestPage(cursor === undefined ? {} : { cursor }, { timeout });
    if (!Array.isArray(page['tools'])) throw new Error('no list of tools');
    for (const tool of page['tools']) tools.push(tool);
    chars += (jsonOf(page) ?? '').length;
    cursor = page['nextCursor'];
  } while (typeof cursor === 'string' && !cursors.has(cursor) && cursors.size < maxPages && chars < maxListChars);
  return tools;
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
 * Returns a `fetch` whose responses end with an error at the limit: the SDK reads them into memory whole.
 *
 * @param onExceeded is called at the limit, because the SDK lets a request wait whose stream of events broke
 */
function limitedFetch(onExceeded: () => void): typeof fetch {
  const limit: ResponseLimit = {
    maxBytes: maxMessageBytes,
    isPerEvent: true,
    onExceeded: () => {
      onExceeded();
      return new OversizedMessageError();
    },
  };
  return async (input, init) => limitedResponse(await fetch(input, init), limit);
}
