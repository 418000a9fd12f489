import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from '../../transports/logger.js';
import type { Tool } from '../tools/tool.js';
import { memberOf, type ToolGroup } from '../tools/tool-group.js';
import { ToolRegistry } from '../tools/tool-registry.js';
import { McpConnection } from './mcp-connection.js';
import type { McpSdk } from './mcp-sdk.js';
import { labelOf, type McpServer } from './mcp-server.js';
import { mcpToolName } from './mcp-tool-name.js';
import { readTools, type ServerTool } from './read-tools.js';

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
/** Maximum number of them per tool: a schema of this size takes about a second to compile. */
const maxToolChars = 100_000;
/** Time that compiling schemas may take of a turn of the event loop. */
const maxTurnMs = 10;

/** Tools of one server, as the server last listed them. */
export class ServerTools implements ToolGroup {
  readonly #label: string;
  readonly #options: ServerToolsOptions;
  readonly #connection: McpConnection;
  #current: Tool[] = [];
  /** The current tools with their descriptions, by name on the server. */
  #known: ReadonlyMap<string, { readonly json: string; readonly tool: Tool }> = new Map();
  #leftOut = 0;
  #revision = 0;

  constructor(sdk: McpSdk, server: McpServer, options: ServerToolsOptions) {
    this.#label = labelOf(server);
    this.#options = options;
    this.#connection = new McpConnection(sdk, server, {
      logger: options.logger,
      onTools: (tools) => this.#update(tools),
    });
  }

  /** Returns `true` if the tools include the one with this name on the server. */
  offers(serverName: string): boolean {
    return this.#known.has(serverName);
  }

  get tools(): Tool[] {
    this.#connection.wake();
    return this.#current;
  }

  /** Connects for the first time. @throws {McpConnectionError} */
  async start(): Promise<void> {
    await this.#connection.start();
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  async #update(listed: readonly unknown[]): Promise<void> {
    this.#revision += 1;
    const revision = this.#revision;
    const { tools: described, omitted } = readTools(listed, {
      allow: this.#options.allow,
      maxTools,
      maxChars,
      maxToolChars,
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
      execute: (input, { callKey, signal }) =>
        this.#connection.call({ name: serverName, toolName: name, input, callKey, signal, isRepeatable }),
    };
  }
}
