import type { Logger } from '../../transports/logger.js';
import type { AgentContext } from '../agent/agent-context.js';
import type { Tool } from '../tools/tool.js';
import { memberOf, type ToolGroup } from '../tools/tool-group.js';
import { ToolRegistry } from '../tools/tool-registry.js';
import { McpConnection } from './mcp-connection.js';
import { toErrorText, toModelResult } from './mcp-content.js';
import { McpToolError } from './mcp-errors.js';
import type { McpSdk, ServerTool } from './mcp-sdk.js';
import { labelOf, type McpServer } from './mcp-server.js';
import { mcpToolName } from './mcp-tool-name.js';

/** Checked options of `mcpTools`. */
export interface ServerToolsOptions {
  readonly allow: ReadonlySet<string> | undefined;
  readonly prefix: string;
  readonly timeoutMs: number;
  readonly logger: Logger;
}

/** Maximum number of tools of one server. */
const maxTools = 1_000;

/** Tools of one server, as the server last listed them. */
export class ServerTools implements ToolGroup {
  readonly #label: string;
  readonly #options: ServerToolsOptions;
  readonly #connection: McpConnection;
  #current: Tool[] = [];
  #offered: ReadonlySet<string> = new Set();

  constructor(sdk: McpSdk, server: McpServer, options: ServerToolsOptions) {
    this.#label = labelOf(server);
    this.#options = options;
    this.#connection = new McpConnection(sdk, server, {
      logger: options.logger,
      onTools: (tools) => this.#update(tools),
    });
  }

  /** Names, on the server, of the current tools. */
  get offered(): ReadonlySet<string> {
    return this.#offered;
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

  #update(listed: readonly ServerTool[]): void {
    const { allow, timeoutMs } = this.#options;
    const wanted = listed.filter(({ name }) => allow?.has(name) !== false).slice(0, maxTools);
    const registry = new ToolRegistry();
    const offered = new Set<string>();
    const tools: Tool[] = [];
    for (const described of wanted) {
      const tool = this.#toTool(described, timeoutMs);
      try {
        if (described.execution?.taskSupport === 'required') continue;
        registry.register(tool);
      } catch {
        // A tool that no agent can register must not take the others with it.
        const fields = { server: this.#label, tool: tool.name };
        this.#options.logger.warn(fields, 'tool of an MCP server left out: its schema or its name is not valid');
        continue;
      }
      offered.add(described.name);
      tools.push(memberOf(this, tool));
    }
    this.#offered = offered;
    this.#current = tools;
  }

  #toTool({ name: serverName, title, description, inputSchema, annotations }: ServerTool, timeoutMs: number): Tool {
    const name = mcpToolName(serverName, this.#options.prefix);
    const isRepeatable = annotations?.readOnlyHint === true || annotations?.idempotentHint === true;
    return {
      name,
      description: description ?? title ?? '',
      parameters: { properties: {}, ...inputSchema },
      timeoutMs,
      retryable: isRepeatable,
      execute: async (input, ctx) => this.#call(serverName, name, input, ctx, isRepeatable),
    };
  }

  async #call(
    serverName: string,
    name: string,
    input: unknown,
    { callKey, signal }: AgentContext,
    isRepeatable: boolean,
  ): Promise<unknown> {
    const result = await this.#connection.call({ name: serverName, input, callKey, signal, isRepeatable });
    if (result.isError === true) throw new McpToolError(name, this.#connection.redact(toErrorText(result)));
    return toModelResult(result);
  }
}
