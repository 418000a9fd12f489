import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { TransportUnavailableError } from '../../errors.js';
import type { Logger } from '../../transport.js';
import { withoutArguments } from '../redis-errors.js';
import type { RedisSettings } from '../redis-options.js';
import type { Script, ScriptArgument } from '../scripts/script.js';
import { logConnection } from './connection-log.js';
import { Deadline } from './deadline.js';
import { connectRedis } from './optional-dependencies.js';
import { isTransient, repeatDelayMs, translateReply, wasNotExecuted } from './rejections.js';

const lateRepetition = new Error('the connection was lost before the reply, too long ago to repeat the command');

/**
 * Runs commands that a caller waits for: each resolves or rejects within `emitTimeoutMs`. Connects at the first
 * command. After `close` it connects for a command and disconnects when no command runs.
 */
export class CommandClient {
  readonly #settings: RedisSettings;
  readonly #logger: Logger;
  #client: Promise<Redis> | undefined;
  /** Commands that wait for the connection. A promise that they share would keep them in memory during an outage. */
  readonly #awaitingReady = new Set<() => void>();
  #lastError: unknown;
  #running = 0;
  #isClosed = false;
  #onReconnected = (): void => {};

  constructor(settings: RedisSettings, logger: Logger) {
    this.#settings = settings;
    this.#logger = logger;
  }

  /** Time for which a script that must not run twice remembers its reply, in milliseconds. */
  get repeatWithinMs(): number {
    return 2 * this.#settings.emitTimeoutMs;
  }

  /** Sets the callback for a connection that is restored. */
  onReconnected(listener: () => void): void {
    this.#onReconnected = listener;
  }

  /** Runs a script that may run again if its connection was lost. */
  runScript(script: Script, args: readonly ScriptArgument[]): Promise<unknown> {
    return this.run((client) => script.run(client, this.#settings.prefix, args), { isRepeatable: true });
  }

  /** Runs a script that may run again if its connection was lost, while it remembers its reply. */
  runRemembered(script: Script, args: readonly ScriptArgument[]): Promise<unknown> {
    const repeatableMs = this.#settings.emitTimeoutMs;
    return this.run((client) => script.run(client, this.#settings.prefix, args), { isRepeatable: true, repeatableMs });
  }

  /**
   * @param command called again if it `isRepeatable` and its connection was lost, at most `repeatableMs` after the first
   * call: a process that is paused does not notice that its time is over
   * @throws {TransportUnavailableError | BackpressureError | RedisCommandError | RedisPermissionError}
   */
  async run<T>(
    command: (client: Redis) => Promise<T>,
    {
      isRepeatable = false,
      repeatableMs = Number.POSITIVE_INFINITY,
    }: { isRepeatable?: boolean; repeatableMs?: number } = {},
  ): Promise<T> {
    const deadline = new Deadline(this.#settings.emitTimeoutMs);
    this.#running += 1;
    try {
      const client = await this.#connected();
      const { stream } = client;
      const bytesRead = stream?.bytesRead;
      let sentAt: number | undefined;
      for (let attempt = 1; ; attempt += 1) {
        try {
          await this.#ready(client, deadline);
          sentAt ??= performance.now();
          if (performance.now() - sentAt > repeatableMs) throw this.#unavailable(lateRepetition);
          return await deadline.race(command(client));
        } catch (error) {
          // A connection that no longer replies is replaced.
          if (deadline.isOver && client.stream === stream && stream?.bytesRead === bytesRead) stream?.destroy();
          if (!isTransient(error)) throw translateReply(error);
          if (deadline.isOver || !(isRepeatable || wasNotExecuted(error))) throw this.#unavailable(error);
          await delay(repeatDelayMs(attempt));
        }
      }
    } finally {
      deadline.cancel();
      this.#running -= 1;
      if (this.#isClosed) await this.#disconnectIfIdle();
    }
  }

  /** Keeps the connection from now on, also after a `close`. */
  open(): void {
    this.#isClosed = false;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#disconnectIfIdle();
  }

  #connected(): Promise<Redis> {
    this.#client ??= this.#connect();
    return this.#client;
  }

  async #connect(): Promise<Redis> {
    const connection = await connectRedis(this.#settings, {
      resends: false,
      options: { enableOfflineQueue: false, autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0 },
    });
    logConnection(connection, this.#logger);
    connection.on('error', (error: unknown) => {
      this.#lastError = error;
    });
    let isFirst = true;
    connection.on('ready', () => {
      this.#lastError = undefined;
      for (const proceed of [...this.#awaitingReady]) proceed();
      if (!isFirst) this.#onReconnected();
      isFirst = false;
    });
    return connection;
  }

  #ready(client: Redis, deadline: Deadline): Promise<void> | undefined {
    if (client.status === 'ready') return undefined;
    return deadline.wait((resolve) => {
      const proceed = (): void => resolve(undefined);
      this.#awaitingReady.add(proceed);
      return () => this.#awaitingReady.delete(proceed);
    });
  }

  #unavailable(error: unknown): TransportUnavailableError {
    const cause = withoutArguments(this.#lastError ?? error);
    return new TransportUnavailableError(`Redis did not answer within ${this.#settings.emitTimeoutMs} ms`, cause);
  }

  async #disconnectIfIdle(): Promise<void> {
    if (this.#running > 0 || this.#client === undefined) return;
    const client = this.#client;
    this.#client = undefined;
    (await client).disconnect();
  }
}
