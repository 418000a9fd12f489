import { setTimeout as delay } from 'node:timers/promises';
import { HubError, messageOf, quote } from '../../errors.js';
import type { Logger } from '../../transports/transport.js';
import { abortable } from '../abortable.js';
import { readAnswer, toErrorText, toModelResult } from './mcp-content.js';
import type { McpSdk, McpSession } from './mcp-sdk.js';
import { labelOf, type McpServer, secretsOf } from './mcp-server.js';

/** Request of one call. */
export interface McpCall {
  /** Name of the tool on the server. */
  readonly name: string;
  /** Name of the tool for the model. */
  readonly toolName: string;
  readonly input: unknown;
  readonly callKey: string;
  readonly signal: AbortSignal;
  /** The call is sent again if the connection was lost during it. */
  readonly isRepeatable: boolean;
}

/** Settings of a connection. */
export interface McpConnectionOptions {
  readonly logger: Logger;
  /** Receives the tools as the server listed them. */
  readonly onTools: (tools: readonly unknown[]) => Promise<void>;
}

/** Milliseconds before each attempt to reach a server that was lost. */
const reopenDelaysMs = [0, 250, 500, 1_000, 2_000];
/** Minimum time between two attempts that no call asks for. */
const idleReopenMs = 10_000;
/** Number of lists that a server may ask for at once, and the time after which it may ask for one more. */
const listBurst = 10;
const listIntervalMs = 1_000;

/** Connection to one server that outlives its sessions: the next call after a loss opens a new one. */
export class McpConnection {
  readonly #sdk: McpSdk;
  readonly #server: McpServer;
  readonly #label: string;
  readonly #options: McpConnectionOptions;
  readonly #closing = new AbortController();
  #session: McpSession | undefined;
  #opening: Promise<McpSession> | undefined;
  #checking: Promise<void> | undefined;
  #listing: { readonly session: McpSession; isStale: boolean } | undefined;
  #idleFailureAt = Number.NEGATIVE_INFINITY;
  /** Time at which the lists so far would be due at one per interval. */
  #listsDueAt = 0;
  #closed: Promise<void> | undefined;
  readonly #ending = new Set<Promise<void>>();

  constructor(sdk: McpSdk, server: McpServer, options: McpConnectionOptions) {
    this.#sdk = sdk;
    this.#server = server;
    this.#label = labelOf(server);
    this.#options = options;
  }

  /** Connects for the first time. The server's process has ended if that fails. @throws {McpConnectionError} */
  async start(): Promise<void> {
    try {
      await this.#open([0]);
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Reconnects in the background if the server was lost. */
  wake(): void {
    if (this.#session !== undefined || this.#opening !== undefined || this.#closing.signal.aborted) return;
    if (performance.now() - this.#idleFailureAt < idleReopenMs) return;
    this.#open([0]).catch(() => {
      this.#idleFailureAt = performance.now();
    });
  }

  /** Calls a tool, and returns the value that the model receives. @throws {McpConnectionError | McpToolError} */
  async call(call: McpCall): Promise<unknown> {
    // The reason of an abort is not sent to the server.
    const cancel = new AbortController();
    const abort = (): void => cancel.abort('cancelled');
    call.signal.addEventListener('abort', abort);
    try {
      for (let attempt = 1; ; attempt += 1) {
        const session = this.#session ?? (await abortable(this.#open(reopenDelaysMs), call.signal));
        let result: Readonly<Record<string, unknown>>;
        try {
          result = await session.callTool(call.name, call.input, call.callKey, cancel.signal);
        } catch (error) {
          call.signal.throwIfAborted();
          this.#handleFailure(error, session, call, attempt);
          continue;
        }
        return this.#read(call, result);
      }
    } finally {
      call.signal.removeEventListener('abort', abort);
    }
  }

  #read(call: McpCall, result: Readonly<Record<string, unknown>>): unknown {
    const answer = readAnswer(result);
    if (answer === undefined) throw this.#toolError(call, `${quote(call.toolName)} answered in an unknown format`);
    if (answer.isError) throw this.#toolError(call, toErrorText(answer));
    return toModelResult(answer);
  }

  /** Returns the error of a call. The values of headers and environment variables are removed from the server's text. */
  #toolError({ toolName }: McpCall, text: string): McpToolError {
    const shown = secretsOf(this.#server).reduce((left, secret) => left.replaceAll(secret, '[secret]'), text);
    return new McpToolError(this.#label, toolName, shown);
  }

  /** Ends the session and the server's process, and those that ended before. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#closing.abort();
    if (this.#session !== undefined) this.#drop(this.#session);
    await this.#opening?.catch(() => {});
    await Promise.all(this.#ending);
  }

  /** Returns if the call may be sent again, and throws otherwise. */
  #handleFailure(error: unknown, session: McpSession, call: McpCall, attempt: number): void {
    // The SDK reports the end of a session with a code that servers use as well.
    const isAnswer = session === this.#session && this.#sdk.isAnswer(error);
    const failure = isAnswer ? undefined : this.#sdk.explain(error);
    if (failure === undefined) throw this.#toolError(call, messageOf(error));
    if (failure.isLost) this.#drop(session);
    const isRepeatable = failure.isUnreached || (call.isRepeatable && failure.isOversized !== true);
    if (attempt === 1 && failure.isLost && isRepeatable) return;
    const effect = failure.isUnreached || failure.isFinal ? '' : '; the call may or may not have been executed';
    throw new McpConnectionError(this.#label, `${failure.reason}${effect}`, failure.statusCode);
  }

  /** Opens a session, or joins the attempt that is under way. */
  #open(delaysMs: readonly number[]): Promise<McpSession> {
    this.#opening ??= this.#tryOpen(delaysMs).finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #tryOpen(delaysMs: readonly number[]): Promise<McpSession> {
    const { signal } = this.#closing;
    for (let attempt = 1; ; attempt += 1) {
      if (signal.aborted) throw new McpConnectionError(this.#label, 'is closed');
      try {
        return await this.#openOnce();
      } catch (error) {
        if (signal.aborted) continue;
        const refused = { reason: 'refused the connection', statusCode: undefined, isFinal: false };
        const { reason, statusCode, isFinal } = this.#sdk.explain(error) ?? refused;
        if (isFinal || attempt >= delaysMs.length) {
          throw new McpConnectionError(this.#label, reason, statusCode);
        }
        await delay(delaysMs[attempt], undefined, { signal }).catch(() => {});
      }
    }
  }

  async #openOnce(): Promise<McpSession> {
    let opened: McpSession | undefined;
    const events = {
      onToolsChanged: () => void this.#relist(opened),
      // Children of a process that has ended may still run.
      onClosed: () => {
        if (opened !== undefined && opened === this.#session) this.#drop(opened);
      },
      onTrouble: () => void this.#check(opened),
    };
    const session = await this.#sdk.open(this.#server, events, this.#closing.signal);
    opened = session;
    this.#session = session;
    try {
      // `close` may have found no session yet.
      this.#closing.signal.throwIfAborted();
      await this.#list(session);
    } catch (error) {
      this.#drop(session);
      throw error;
    }
    this.#options.logger.info({ server: this.#label }, 'MCP server connected');
    return session;
  }

  async #relist(session: McpSession | undefined): Promise<void> {
    if (session === undefined || session !== this.#session) return;
    if (this.#listing?.session === session) {
      this.#listing.isStale = true;
      return;
    }
    try {
      await this.#list(session);
    } catch {
      this.#options.logger.warn({ server: this.#label }, 'MCP server changed its tools, but did not list them');
    }
  }

  /** Lists the tools. A change during the listing causes another one, for which nobody waits. */
  async #list(session: McpSession): Promise<void> {
    const listing = { session, isStale: false };
    this.#listing = listing;
    try {
      await this.#nextList();
      listing.isStale = false;
      const tools = await session.listTools();
      if (session === this.#session) await this.#options.onTools(tools);
    } finally {
      if (this.#listing === listing) this.#listing = undefined;
      if (listing.isStale) void this.#relist(session);
    }
  }

  /** Waits if the server asks for lists all the time. */
  async #nextList(): Promise<void> {
    const now = performance.now();
    this.#listsDueAt = Math.max(this.#listsDueAt, now) + listIntervalMs;
    const waitMs = this.#listsDueAt - now - listBurst * listIntervalMs;
    if (waitMs > 0) await delay(waitMs, undefined, { signal: this.#closing.signal, ref: false }).catch(() => {});
  }

  /** Finds out if the server is lost: a broken stream alone does not tell, and a call would wait for its timeout. */
  #check(session: McpSession | undefined): Promise<void> {
    if (session === undefined || session !== this.#session) return Promise.resolve();
    this.#checking ??= session
      .ping()
      .catch((error: unknown) => {
        if (this.#sdk.explain(error)?.isLost === true) this.#drop(session);
      })
      .finally(() => {
        this.#checking = undefined;
      });
    return this.#checking;
  }

  #drop(session: McpSession): void {
    this.#forget(session);
    // Closing rejects the other calls of the session.
    const ending = session
      .close()
      .catch(() => {})
      .finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  #forget(session: McpSession | undefined): void {
    if (session === undefined || session !== this.#session) return;
    this.#session = undefined;
    if (!this.#closing.signal.aborted) this.#options.logger.warn({ server: this.#label }, 'MCP server lost');
  }
}

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
