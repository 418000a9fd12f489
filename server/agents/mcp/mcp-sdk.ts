import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { CallToolResult, ListToolsResult } from '@modelcontextprotocol/sdk/types.js';
import type { JsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/types.js';
import { MissingPackageError } from '../../transports/errors.js';
import { version } from '../../version.js';
import { McpToolError } from './mcp-errors.js';
import type { McpServer } from './mcp-server.js';

/** Tool as its server describes it. */
export type ServerTool = ListToolsResult['tools'][number];

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
}

/** One connection to a server, from its handshake to its end. */
export interface McpSession {
  listTools(): Promise<ServerTool[]>;
  callTool(name: string, input: unknown, callKey: string, signal: AbortSignal): Promise<CallToolResult>;
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** The part of `@modelcontextprotocol/sdk` that is used. */
export interface McpSdk {
  /** Starts or reaches a server. Rejects with any error: see {@link explain}. */
  open(server: McpServer, events: SessionEvents): Promise<McpSession>;
  /** Returns `true` for an error that the server may have answered with. */
  isAnswer(error: unknown): boolean;
  /** Returns the failure of a request; `undefined` if the server answered the request with an error. */
  explain(error: unknown): RequestFailure | undefined;
}

const maxPages = 100;
/** Time for a handshake or a list of tools. */
const answerTimeoutMs = 60_000;
const pingTimeoutMs = 5_000;
/** Longest delay of a timer. Time-outs of calls are those of the tools. */
const noTimeoutMs = 2 ** 31 - 1;
/** Time for a server to end its session. */
const endTimeoutMs = 2_000;

/** Loads the SDK, an optional dependency, at first use. @throws {MissingPackageError} */
export async function loadMcpSdk(): Promise<McpSdk> {
  const { Client, StdioClientTransport, http, types } = await importSdk();

  async function open(server: McpServer, events: SessionEvents): Promise<McpSession> {
    // Results go to a model, which can use one that does not match its schema. A schema may be one that fails to compile.
    const jsonSchemaValidator = {
      getValidator:
        <T>(): JsonSchemaValidator<T> =>
        (data) => ({ valid: true, data: data as T, errorMessage: undefined }),
    };
    const client = new Client({ name: 'hubline', version }, { capabilities: {}, jsonSchemaValidator });
    client.setNotificationHandler(types.ToolListChangedNotificationSchema, events.onToolsChanged);
    client.onclose = events.onClosed;
    client.onerror = events.onTrouble;
    if (!('url' in server)) {
      const { command, args = [], env = {}, cwd, stderr = 'ignore' } = server;
      const settings = { command, args: [...args], env: { ...env }, stderr, ...(cwd !== undefined && { cwd }) };
      await client.connect(new StdioClientTransport(settings), { timeout: answerTimeoutMs });
      return sessionOf(client, undefined);
    }
    const transport = new http.StreamableHTTPClientTransport(new URL(server.url), {
      requestInit: { headers: { ...server.headers } },
    });
    // The SDK's own types disagree under exactOptionalPropertyTypes.
    await client.connect(transport as Parameters<Client['connect']>[0], { timeout: answerTimeoutMs });
    return sessionOf(client, transport);
  }

  function explain(error: unknown): RequestFailure | undefined {
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
    const [{ Client }, { StdioClientTransport }, http, types] = await Promise.all([
      import('@modelcontextprotocol/sdk/client/index.js'),
      import('@modelcontextprotocol/sdk/client/stdio.js'),
      import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
      import('@modelcontextprotocol/sdk/types.js'),
    ]);
    return { Client, StdioClientTransport, http, types };
  } catch (cause) {
    throw new MissingPackageError('mcpTools', '@modelcontextprotocol/sdk@1', cause);
  }
}

function sessionOf(client: Client, http: StreamableHTTPClientTransport | undefined): McpSession {
  return {
    async listTools() {
      const tools: ServerTool[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < maxPages; page += 1) {
        const result = await client.listTools(cursor === undefined ? {} : { cursor }, { timeout: answerTimeoutMs });
        tools.push(...result.tools);
        cursor = result.nextCursor;
        if (cursor === undefined) break;
      }
      return tools;
    },
    async callTool(name, input, callKey, signal) {
      // The arguments match the schema of the tool, which describes an object.
      const params = { name, arguments: input as Record<string, unknown>, _meta: { 'hubline/callKey': callKey } };
      const result = await client.callTool(params, undefined, { signal, timeout: noTimeoutMs });
      // Servers of protocol versions before 2024-11-05 return `toolResult`.
      if (!('content' in result)) throw new McpToolError(name, 'the server answered in an unknown format');
      return result as CallToolResult;
    },
    async ping() {
      await client.ping({ timeout: pingTimeoutMs });
    },
    async close() {
      if (http !== undefined) {
        const ended = http.terminateSession().catch(() => {});
        await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, endTimeoutMs).unref())]);
      }
      await client.close();
    },
  };
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
