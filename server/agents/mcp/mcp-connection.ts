import { setTimeout as delay } from 'node:timers/promises';
import { HubError, messageOf, quote } from '../../errors.js';
import type { Logger } from '../../transports/transport.js';
import { abortable } from '../abortable.js';
import { readAnswer, toErrorText, toModelResult } from './mcp-content.js';
import type { McpList, McpSdk, McpSession, RequestFailure } from './mcp-sdk.js';
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

/** Request of a session. */
interface McpRequest<T> {
  readonly signal?: AbortSignal;
  /** The request is sent again if the connection was lost during it. */
  readonly isRepeatable: boolean;
  readonly send: (session: McpSession) => Promise<T>;
  /** Returns the error for a server that answered with one. */
  readonly toError: (text: string) => HubError;
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
  /** A user has to grant access. Only calls try again. */
  #needsGrant = false;
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
    // Each attempt would ask the user for access again.
    if (this.#needsGrant || performance.now() - this.#idleFailureAt < idleReopenMs) return;
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
      const result = await this.#request({
        signal: call.signal,
        isRepeatable: call.isRepeatable,
        send: (session) => session.callTool(call.name, call.input, call.callKey, cancel.signal),
        toError: (text) => this.#toolError(call, text),
      });
      return this.#read(call, result);
    } finally {
      call.signal.removeEventListener('abort', abort);
    }
  }

  /** Returns the answer to a request that changes nothing. @throws {McpConnectionError | McpRequestError} */
  ask(method: string, params: object, timeoutMs: number): Promise<Readonly<Record<string, unknown>>> {
    return this.#request({
      isRepeatable: true,
      send: (session) => session.request(method, params, timeoutMs),
      toError: (text) => new McpRequestError(this.#label, method, this.#withoutSecrets(text)),
    });
  }

  /** Returns a list of the server. @throws {McpConnectionError | McpRequestError} */
  list(kind: McpList): Promise<readonly unknown[]> {
    return this.#request({
      isRepeatable: true,
      send: (session) => session.list(kind),
      toError: (text) => new McpRequestError(this.#label, `${kind}/list`, this.#withoutSecrets(text)),
    });
  }

  async #request<T>(request: McpRequest<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      const { signal } = request;
      const session =
        this.#session ??
        (await (signal === undefined ? this.#open(reopenDelaysMs) : abortable(this.#open(reopenDelaysMs), signal)));
      try {
        return await request.send(session);
      } catch (error) {
        signal?.throwIfAborted();
        this.#handleFailure(error, session, request, attempt);
      }
    }
  }

  #read(call: McpCall, result: Readonly<Record<string, unknown>>): unknown {
    const answer = readAnswer(result);
    if (answer === undefined) throw this.#toolError(call, `${quote(call.toolName)} answered in an unknown format`);
    if (answer.isError) throw this.#toolError(call, toErrorText(answer));
    return toModelResult(answer);
  }

  #toolError({ toolName }: McpCall, text: string): McpToolError {
    return new McpToolError(this.#label, toolName, this.#withoutSecrets(text));
  }

  /** Returns a text of the server without the values of headers, tokens and environment variables. */
  #withoutSecrets(text: string): string {
    const token = this.#session?.token;
    const secrets = [...(token === undefined ? [] : [token]), ...secretsOf(this.#server)];
    return secrets.reduce((left, secret) => left.replaceAll(secret, '[secret]'), text);
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
  #handleFailure<T>(error: unknown, session: McpSession, request: McpRequest<T>, attempt: number): void {
    // The SDK reports the end of a session with a code that servers use as well.
    const isAnswer = session === this.#session && this.#sdk.isAnswer(error);
    const failure = isAnswer ? undefined : this.#sdk.explain(error);
    if (failure === undefined) throw request.toError(messageOf(error));
    if (failure.isLost) this.#drop(session);
    if (failure.isFinal && failure.statusCode === undefined) throw toConnectionError(this.#label, failure);
    const isRepeatable = failure.isUnreached || (request.isRepeatable && failure.isOversized !== true);
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
        const failure = this.#sdk.explain(error) ?? { reason: 'refused the connection', isFinal: false };
        this.#needsGrant = 'needsGrant' in failure && failure.needsGrant === true;
        if (failure.isFinal || attempt >= delaysMs.length) throw toConnectionError(this.#label, failure);
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
    this.#needsGrant = false;
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
      const tools = await session.list('tools');
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

/** Returns the error about a server that cannot be used. */
export function toConnectionError(
  label: string,
  failure: Pick<RequestFailure, 'reason'> & Partial<RequestFailure>,
): HubError {
  const { reason, statusCode, needsGrant, cause } = failure;
  return needsGrant ? new McpAuthorizationError(label) : new McpConnectionError(label, reason, statusCode, cause);
}

/**
 * An MCP server cannot be started or reached, or does not speak the protocol. Contains no header, argument, environment
 * variable, path or text of the server, because those can hold secrets. Its cause is what an `authProvider` threw.
 */
export class McpConnectionError extends HubError {
  /** Command of the server, or the origin of its URL. */
  readonly server: string;
  /** Status of the HTTP response, if there was one. */
  declare readonly statusCode?: number;

  constructor(server: string, reason: string, statusCode?: number, cause?: unknown) {
    const options = cause === undefined ? undefined : { cause };
    super('ERR_MCP_CONNECTION', `the MCP server ${quote(server)} ${reason}`, options);
    this.server = server;
    if (statusCode !== undefined) this.statusCode = statusCode;
  }
}

/**
 * A user has to grant access to an MCP server. The server's `authProvider` received the page on which that is done. Pass
 * the code that the page returns to {@link finishMcpAuthorization}.
 */
export class McpAuthorizationError extends HubError {
  /** Origin of the server's URL. */
  readonly server: string;

  constructor(server: string) {
    super(
      'ERR_MCP_AUTHORIZATION',
      `the MCP server ${quote(server)} requires an authorization; send the user to the page that redirectToAuthorization of authProvider received, and pass its code to finishMcpAuthorization`,
    );
    this.server = server;
  }
}

/** An MCP server answered a request for a resource, a prompt or a list with an error. */
export class McpRequestError extends HubError {
  /** Command of the server, or the origin of its URL. */
  readonly server: string;
  /** Method of the protocol, such as `resources/read`. */
  readonly method: string;

  constructor(server: string, method: string, text: string) {
    const refused = `the MCP server ${quote(server)} refused ${method}`;
    super('ERR_MCP_REQUEST', `${refused}: ${text}`, { publicMessage: refused });
    this.server = server;
    this.method = method;
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
