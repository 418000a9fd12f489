import { HubError, quote } from '../../errors.js';

/**
 * An MCP server cannot be started or reached, or does not speak the protocol. Contains no header, argument, environment
 * variable, path or text of the server, and no cause, because those can hold secrets.
 */
export class McpConnectionError extends HubError {
  /** Command of the server, or the origin of its URL. */
  readonly server: string;
  /** Status of the HTTP response, if there was one. */
  declare readonly statusCode?: number;

  constructor(server: string, reason: string, statusCode?: number) {
    super('ERR_MCP_CONNECTION', `the MCP server ${quote(server)} ${reason}`);
    this.server = server;
    if (statusCode !== undefined) this.statusCode = statusCode;
  }
}

/** A tool of an MCP server failed. The model receives the server's text. */
export class McpToolError extends HubError {
  /** Command of the server, or the origin of its URL. */
  readonly server: string;
  /** Name of the tool for the model. */
  readonly toolName: string;

  constructor(server: string, toolName: string, text: string) {
    const failed = `tool ${quote(toolName)} of the MCP server ${quote(server)} failed`;
    super('ERR_MCP_TOOL', text === '' ? failed : text, { publicMessage: failed });
    this.server = server;
    this.toolName = toolName;
  }
}
