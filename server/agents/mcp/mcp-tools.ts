import { setImmediate as nextTurn } from 'node:timers/promises';
import { InvalidOptionError } from '../../errors.js';
import { guardLogger } from '../../hub/guard-logger.js';
import { OptionChecker } from '../../options.js';
import { nodeCrypto } from '../../transports/derived-ids.js';
import { type Logger, silentLogger } from '../../transports/transport.js';
import type { ToolContext } from '../agent/agent-context.js';
import type { Part } from '../model/part.js';
import type { Tool } from '../tools/tool.js';
import { compileForeignSchema, memberOf, type ToolGroup, ToolRegistry } from '../tools/tool-registry.js';
import { McpConnection, toConnectionError } from './mcp-connection.js';
import { readTools, type ServerTool } from './mcp-content.js';
import {
  getPrompt,
  listPrompts,
  listResources,
  type McpPrompt,
  type McpResource,
  readResource,
} from './mcp-context.js';
import type { McpSdk } from './mcp-sdk.js';
import { checkMcpServer, labelOf, type McpHttpServer, type McpServer } from './mcp-server.js';

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

/** Tools, resources and prompts of an MCP server. */
export interface McpTools {
  /** Current tools of the server: pass them to `createAgent`, which follows their changes. */
  readonly tools: Tool[];
  /** Returns the resources of the server. Rejects with {@link McpConnectionError} or {@link McpRequestError}. */
  listResources(): Promise<McpResource[]>;
  /**
   * Returns the content of a resource as parts of an input: texts, images and files. Rejects with
   * {@link McpConnectionError} or {@link McpRequestError}.
   *
   * @example
   * await agent.run([{ type: 'text', text: 'Summarise this' }, ...(await docs.readResource('docs://terms'))]);
   */
  readResource(uri: string): Promise<Part[]>;
  /** Returns the prompts of the server. Rejects with {@link McpConnectionError} or {@link McpRequestError}. */
  listPrompts(): Promise<McpPrompt[]>;
  /**
   * Returns the messages of a prompt as parts of an input. Rejects with {@link McpConnectionError} or
   * {@link McpRequestError}.
   *
   * @param values arguments of the prompt
   */
  getPrompt(name: string, values?: Readonly<Record<string, string>>): Promise<Part[]>;
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
 * @throws {McpAuthorizationError} if a user has to grant access first
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
  const tools = new ServerTools(await loadSdk(), server, settings);
  await tools.connection.start();
  const unknown = allow?.find((name) => !tools.offers(name));
  if (unknown !== undefined) {
    await tools.connection.close();
    throw new InvalidOptionError('allow of mcpTools', 'names of tools that the server offers', unknown);
  }
  const { connection } = tools;
  return {
    get tools() {
      return tools.tools;
    },
    listResources: () => listResources(connection),
    readResource: (uri) => readResource(connection, uri, timeoutMs),
    listPrompts: () => listPrompts(connection),
    getPrompt: (name, values = {}) => getPrompt(connection, name, values, timeoutMs),
    close: () => connection.close(),
  };
}

/**
 * Ends an authorization that `mcpTools` asked for: exchanges the code for tokens, which `authProvider` stores. Then
 * `mcpTools` connects. Works in any process whose `authProvider` has the stored code verifier.
 *
 * @param server the same server as that of `mcpTools`, with its `authProvider`
 * @param code query parameter `code` of the address to which the user was sent back
 *
 * @throws {InvalidOptionError} if an option is wrong
 * @throws {MissingPackageError} if `@modelcontextprotocol/sdk` is not installed
 * @throws {McpConnectionError} if the code is not accepted, or a server cannot be reached
 */
export async function finishMcpAuthorization(server: McpHttpServer, code: string): Promise<void> {
  const owner = 'finishMcpAuthorization';
  checkMcpServer(server, owner);
  if (server.authProvider === undefined) throw new InvalidOptionError(`authProvider of ${owner}`, 'set', undefined);
  // The value is not shown: it is a secret.
  if (typeof code !== 'string' || code === '') {
    throw new InvalidOptionError(`code of ${owner}`, 'a non-empty string', code, 'type');
  }
  const sdk = await loadSdk();
  try {
    await sdk.authorize(server, code);
  } catch (error) {
    throw toConnectionError(labelOf(server), sdk.explain(error) ?? { reason: 'did not accept the code' });
  }
}

/** Loads the SDK, and the code that uses it. @throws {MissingPackageError} */
async function loadSdk(): Promise<McpSdk> {
  const { loadMcpSdk } = await import('./mcp-sdk.js');
  return loadMcpSdk();
}

/** Longest delay of a timer. */
const maxTimeoutMs = 2 ** 31 - 1;

/** Checked options of `mcpTools`. */
export interface ServerToolsOptions {
  readonly allow: ReadonlySet<string> | undefined;
  readonly prefix: string;
  readonly timeoutMs: number;
  readonly logger: Logger;
}

/** Maximum number of tools of one server. */
const maxTools = 1_000;
/** Maximum number of characters of their names, descriptions and schemas. */
const maxChars = 1_000_000;
/** Maximum number of them per tool. */
const maxToolChars = 100_000;
/** Maximum number of objects in a schema, which may take a fifth of a second to compile. */
const maxSubschemas = 500;
/** Time that compiling schemas may take of a turn of the event loop. */
const maxTurnMs = 10;

/** Tools of one server, as the server last listed them. */
class ServerTools implements ToolGroup {
  readonly #label: string;
  readonly #options: ServerToolsOptions;
  readonly connection: McpConnection;
  #current: Tool[] = [];
  /** The current tools with their descriptions, by name on the server. */
  #known: ReadonlyMap<string, { readonly json: string; readonly tool: Tool }> = new Map();
  #leftOut = 0;
  #revision = 0;

  constructor(sdk: McpSdk, server: McpServer, options: ServerToolsOptions) {
    this.#label = labelOf(server);
    this.#options = options;
    this.connection = new McpConnection(sdk, server, {
      logger: options.logger,
      onTools: (tools) => this.#update(tools),
    });
  }

  /** Returns `true` if the tools include the one with this name on the server. */
  offers(serverName: string): boolean {
    return this.#known.has(serverName);
  }

  get tools(): Tool[] {
    this.connection.wake();
    return this.#current;
  }

  async #update(listed: readonly unknown[]): Promise<void> {
    this.#revision += 1;
    const revision = this.#revision;
    const { tools: described, omitted } = readTools(listed, {
      allow: this.#options.allow,
      maxTools,
      maxChars,
      maxToolChars,
      maxSubschemas,
    });
    const registry = new ToolRegistry();
    const next = new Map<string, { readonly json: string; readonly tool: Tool }>();
    let turnStartedAt = performance.now();
    for (const each of described) {
      if (performance.now() - turnStartedAt > maxTurnMs) {
        await nextTurn();
        turnStartedAt = performance.now();
      }
      const known = this.#known.get(each.name);
      // The same object, so that its schema is not compiled again.
      const tool = known?.json === each.json ? known.tool : this.#toTool(each);
      try {
        compileForeignSchema(tool);
        registry.register(tool);
      } catch {
        // A tool that no agent can register must not take the others with it.
        continue;
      }
      next.set(each.name, { json: each.json, tool: memberOf(this, tool) });
    }
    // A later list overtook this one.
    if (revision !== this.#revision) return;
    const tools = [...next.values()].map(({ tool }) => tool);
    const leftOut = omitted + described.length - tools.length;
    const isSame = tools.length === this.#current.length && tools.every((tool, index) => tool === this.#current[index]);
    if (leftOut > 0 && !(isSame && leftOut === this.#leftOut)) {
      const fields = { server: this.#label, leftOut };
      this.#options.logger.warn(
        fields,
        'tools of an MCP server left out: not valid, of the same name, or beyond a limit',
      );
    }
    this.#leftOut = leftOut;
    this.#known = next;
    if (!isSame) this.#current = tools;
  }

  #toTool({ name: serverName, description, inputSchema, isRepeatable }: ServerTool): Tool {
    const name = mcpToolName(serverName, this.#options.prefix);
    return {
      name,
      description,
      parameters: inputSchema,
      timeoutMs: this.#options.timeoutMs,
      retryable: isRepeatable,
      execute: (input, { callKey, signal }: ToolContext) =>
        this.connection.call({ name: serverName, toolName: name, input, callKey, signal, isRepeatable }),
    };
  }
}

const maxLength = 64;
const hashLength = 8;

/**
 * Returns the name under which models see a tool of an MCP server. Every vendor accepts it: at most 64 letters, digits,
 * `_` and `-`, the first one no digit or `-`, and no name that every object has. A name that has to be changed ends in a
 * hash of the server's name, so that two tools never share a name, and the name of a tool does not depend on the others.
 */
export function mcpToolName(serverName: string, prefix: string): string {
  const full = `${prefix}${serverName}`;
  // Packages of vendors look names up in plain objects, which have a `constructor`.
  if (full.length <= maxLength && /^[A-Za-z_][\w-]*$/.test(full) && !(full in {})) return full;
  const readable = full.replaceAll(/[^\w-]/g, '_').replace(/^(?=[\d-])/, '_');
  const hash = nodeCrypto().createHash('sha256').update(serverName).digest('hex').slice(0, hashLength);
  return `${readable.slice(0, maxLength - hashLength - 1)}_${hash}`;
}
