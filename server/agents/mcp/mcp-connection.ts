import { setTimeout as delay } from 'node:timers/promises';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { messageOf } from '../../errors.js';
import type { Logger } from '../../transports/logger.js';
import { abortable } from '../abortable.js';
import { McpConnectionError, McpToolError } from './mcp-errors.js';
import type { McpSdk, McpSession, ServerTool } from './mcp-sdk.js';
import { labelOf, type McpServer, secretsOf } from './mcp-server.js';

/** Request of one call. */
export interface McpCall {
  /** Name of the tool on the server. */
  readonly name: string;
  readonly input: unknown;
  readonly callKey: string;
  readonly signal: AbortSignal;
  /** The call is sent again if the connection was lost during it. */
  readonly isRepeatable: boolean;
}

/** Settings of a connection. */
export interface McpConnectionOptions {
  readonly logger: Logger;
  readonly onTools: (tools: readonly ServerTool[]) => void;
}

/** Milliseconds before each attempt to reach a server that was lost. */
const reopenDelaysMs = [0, 250, 500, 1_000, 2_000];
/** Minimum time between two attempts that no call asks for. */
const idleReopenMs = 10_000;

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

  constructor(sdk: McpSdk, server: McpServer, options: McpConnectionOptions) {
    this.#sdk = sdk;
    this.#server = server;
    this.#label = labelOf(server);
    this.#options = options;
  }

  /** Connects for the first time. @throws {McpConnectionError} */
  async start(): Promise<void> {
    await this.#open([0]);
  }

  /** Reconnects in the background if the server was lost. */
  wake(): void {
    if (this.#session !== undefined || this.#opening !== undefined || this.#closing.signal.aborted) return;
    if (performance.now() - this.#idleFailureAt < idleReopenMs) return;
    this.#open([0]).catch(() => {
      this.#idleFailureAt = performance.now();
    });
  }

  /** Calls a tool. @throws {McpConnectionError | McpToolError} */
  async call(call: McpCall): Promise<CallToolResult> {
    // The reason of an abort is not sent to the server.
    const cancel = new AbortController();
    const abort = (): void => cancel.abort('cancelled');
    call.signal.addEventListener('abort', abort);
    try {
      for (let attempt = 1; ; attempt += 1) {
        const session = this.#session ?? (await abortable(this.#open(reopenDelaysMs), call.signal));
        try {
          return await session.callTool(call.name, call.input, call.callKey, cancel.signal);
        } catch (error) {
          call.signal.throwIfAborted();
          this.#handleFailure(error, session, call, attempt);
        }
      }
    } finally {
      call.signal.removeEventListener('abort', abort);
    }
  }

  /** Returns a text of the server without the values of headers and environment variables. */
  redact(text: string): string {
    return secretsOf(this.#server).reduce((shown, secret) => shown.replaceAll(secret, '[secret]'), text);
  }

  /** Ends the session and the server's process. */
  async close(): Promise<void> {
    this.#closing.abort();
    const session = this.#session ?? (await this.#opening?.catch(() => undefined));
    this.#session = undefined;
    await session?.close();
  }

  /** Returns if the call may be sent again, and throws otherwise. */
  #handleFailure(error: unknown, session: McpSession, call: McpCall, attempt: number): void {
    if (error instanceof McpToolError) throw error;
    // The SDK reports the end of a session with a code that servers use as well.
    const isAnswer = session === this.#session && this.#sdk.isAnswer(error);
    const failure = isAnswer ? undefined : this.#sdk.explain(error);
    if (failure === undefined) throw new McpToolError(call.name, this.redact(messageOf(error)));
    if (failure.isLost) this.#drop(session);
    if (attempt === 1 && failure.isLost && (failure.isUnreached || call.isRepeatable)) return;
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
    const session = await this.#sdk.open(this.#server, {
      onToolsChanged: () => void this.#relist(opened),
      onClosed: () => this.#forget(opened),
      onTrouble: () => void this.#check(opened),
    });
    opened = session;
    this.#session = session;
    try {
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
    try {
      await this.#list(session);
    } catch {
      this.#options.logger.warn({ server: this.#label }, 'MCP server changed its tools, but did not list them');
    }
  }

  /** Lists the tools. A change during the listing causes another one. */
  async #list(session: McpSession): Promise<void> {
    if (this.#listing?.session === session) {
      this.#listing.isStale = true;
      return;
    }
    const listing = { session, isStale: true };
    this.#listing = listing;
    try {
      while (listing.isStale && session === this.#session) {
        listing.isStale = false;
        this.#options.onTools(await session.listTools());
      }
    } finally {
      if (this.#listing === listing) this.#listing = undefined;
    }
  }

  /** Finds out if the server is lost: a broken stream alone does not tell, and a call would wait for its time-out. */
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
    void session.close().catch(() => {});
  }

  #forget(session: McpSession | undefined): void {
    if (session === undefined || session !== this.#session) return;
    this.#session = undefined;
    if (!this.#closing.signal.aborted) this.#options.logger.warn({ server: this.#label }, 'MCP server lost');
  }
}
