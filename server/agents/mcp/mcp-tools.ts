import { InvalidOptionError } from '../../errors.js';
import { guardLogger } from '../../hub/guard-logger.js';
import { OptionChecker } from '../../options.js';
import { type Logger, silentLogger } from '../../transports/logger.js';
import type { Tool } from '../tools/tool.js';
import { loadMcpSdk } from './mcp-sdk.js';
import { checkMcpServer, type McpServer } from './mcp-server.js';
import { ServerTools } from './server-tools.js';

/** Options of {@link mcpTools}. */
export interface McpToolsOptions {
  /** Names, on the server, of the tools to offer. Others are never offered. @default all */
  allow?: readonly string[];
  /** Text before the name of each tool, such as `files_`: up to 32 letters, digits, `_` and `-`. @default none */
  prefix?: string;
  /** Milliseconds until a call fails. The handshake and a list of tools have 60_000. @default 60_000 */
  timeoutMs?: number;
  /** Receives lost and new connections, and tools that are left out. @default none */
  logger?: Logger;
}

/** Tools of an MCP server. */
export interface McpTools {
  /** Current tools of the server: pass them to `createAgent`, which follows their changes. */
  readonly tools: Tool[];
  /**
   * Ends the connection, and the process of the server if it was started. Later calls fail. The process of the
   * application does not end by itself before.
   */
  close(): Promise<void>;
}

/**
 * Connects to an MCP server, and returns its tools for an agent. A server that is lost is reached or started again by
 * the next call. An error of the server is the tool's error, which the model receives.
 *
 * An agent that was given all tools of a server receives its new ones too, from its next run. One that was given some
 * keeps to those.
 *
 * @example
 * const files = await mcpTools(
 *   { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', folder] },
 *   { allow: ['read_text_file', 'list_directory'] },
 * );
 * const agent = createAgent({ name: 'librarian', systemPrompt, provider, model, tools: files.tools });
 *
 * @throws {InvalidOptionError} if an option is wrong, or `allow` names a tool that the server does not have
 * @throws {MissingPackageError} if `@modelcontextprotocol/sdk` is not installed
 * @throws {McpConnectionError} if the server cannot be started or reached
 */
export async function mcpTools(server: McpServer, options: McpToolsOptions = {}): Promise<McpTools> {
  checkMcpServer(server);
  const check = new OptionChecker(options, ['allow', 'prefix', 'timeoutMs', 'logger'], 'mcpTools');
  const { allow, prefix = '', timeoutMs = 60_000, logger = silentLogger } = options;
  const isList = allow === undefined || (Array.isArray(allow) && allow.every((name) => typeof name === 'string'));
  check.that(isList, 'allow', 'an array of names', allow);
  const isPrefix = typeof prefix === 'string' && /^([A-Za-z_][\w-]{0,31})?$/.test(prefix);
  check.that(isPrefix, 'prefix', 'up to 32 letters, digits, _ and -, the first one a letter or _', prefix);
  check.durationMs('timeoutMs', timeoutMs, { min: 1, max: maxTimeoutMs });
  check.that(typeof logger?.error === 'function', 'logger', 'a Logger', logger);
  const settings = { allow: allow && new Set(allow), prefix, timeoutMs, logger: guardLogger(logger) };
  const tools = new ServerTools(await loadMcpSdk(), server, settings);
  await tools.start();
  const unknown = allow?.find((name) => !tools.offers(name));
  if (unknown !== undefined) {
    await tools.close();
    throw new InvalidOptionError('allow of mcpTools', 'names of tools that the server offers', unknown);
  }
  return {
    get tools() {
      return tools.tools;
    },
    close: () => tools.close(),
  };
}

/** Longest delay of a timer. */
const maxTimeoutMs = 2 ** 31 - 1;
