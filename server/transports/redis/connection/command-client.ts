import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { BackpressureError, TransportUnavailableError } from '../../errors.js';
import type { Logger } from '../../logger.js';
import type { RedisSettings } from '../redis-options.js';
import type { Script, ScriptArgument } from '../scripts/script.js';
import { logConnection, reconnectDelayMs } from './connection-log.js';
import { connectRedis } from './optional-dependencies.js';

const retryDelayMs = 10;

/**
 * Runs commands that a caller waits for: each resolves or rejects within `emitTimeoutMs`. Connects at the first
 * command. After `close` it connects for a command and disconnects when no command runs.
 */
export class CommandClient {
  readonly #settings: RedisSettings;
  readonly #logger: Logger;
  #client: Promise<Redis> | undefined;
  /** Resolves when a lost connection is restored. */
  #readiness: Promise<void> | undefined;
  #lastError: unknown;
  #running = 0;
  #isClosed = false;

  constructor(settings: RedisSettings, logger: Logger) {
    this.#settings = settings;
    this.#logger = logger;
  }

  /** Time for which a script that must not run twice remembers its reply, in milliseconds. */
  get repeatWithinMs(): number {
    return 2 * this.#settings.emitTimeoutMs;
  }

  /** Runs a script that may run again if its connection was lost. */
  runScript(script: Script, args: readonly ScriptArgument[]): Promise<unknown> {
    return this.run((client) => script.run(client, this.#settings.prefix, args), { isRepeatable: true });
  }

  /**
   * @param command called again if it `isRepeatable` and its connection was lost
   * @throws {TransportUnavailableError | BackpressureError}
   */
  async run<T>(
    command: (client: Redis) => Promise<T>,
    { isRepeatable = false }: { isRepeatable?: boolean } = {},
  ): Promise<T> {
    const deadline = new Deadline(this.#settings.emitTimeoutMs);
    this.#running += 1;
    try {
      const client = await this.#connected();
      for (;;) {
        await this.#ready(client, deadline);
        try {
          return await deadline.race(command(client));
        } catch (error) {
          if (isFinal(error)) throw translate(error);
          if (!isRepeatable || deadline.isOver) throw this.#unavailable(error);
          // A client can report that it is ready for a moment after its connection was lost.
          await delay(retryDelayMs);
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
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      // Replaces a connection that no longer replies.
      socketTimeout: this.#settings.emitTimeoutMs,
      retryStrategy: reconnectDelayMs,
    });
    logConnection(connection, this.#logger);
    connection.on('error', (error: unknown) => {
      this.#lastError = error;
    });
    return connection;
  }

  async #ready(client: Redis, deadline: Deadline): Promise<void> {
    if (client.status === 'ready') return;
    this.#readiness ??= new Promise((resolve) => {
      client.once('ready', () => {
        this.#readiness = undefined;
        resolve();
      });
    });
    try {
      await deadline.race(this.#readiness);
    } catch {
      throw this.#unavailable(this.#lastError);
    }
  }

  #unavailable(cause: unknown): TransportUnavailableError {
    return new TransportUnavailableError('Redis', this.#settings.emitTimeoutMs, cause);
  }

  async #disconnectIfIdle(): Promise<void> {
    if (this.#running > 0 || this.#client === undefined) return;
    const client = this.#client;
    this.#client = undefined;
    this.#readiness = undefined;
    (await client).disconnect();
  }
}

/** Time limit of several promises, with one timer for all of them. */
class Deadline {
  isOver = false;
  readonly #over: Promise<never>;
  readonly #timer: NodeJS.Timeout;

  constructor(ms: number) {
    let expire = (_error: Error): void => {};
    this.#over = new Promise((_, reject) => {
      expire = reject;
    });
    // A deadline that nothing races against is no unhandled rejection.
    this.#over.catch(() => {});
    this.#timer = setTimeout(() => {
      this.isOver = true;
      expire(new Error('no reply in time'));
    }, ms);
  }

  race<T>(promise: Promise<T>): Promise<T> {
    return Promise.race([promise, this.#over]);
  }

  cancel(): void {
    clearTimeout(this.#timer);
  }
}

/** Returns if Redis rejected the command and would reject it again. */
function isFinal(error: unknown): error is Error {
  return (
    error instanceof Error &&
    error.name === 'ReplyError' &&
    !/^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY) /.test(error.message)
  );
}

function translate(error: Error): Error {
  const isFull = error.message.startsWith('OOM') || error.message.includes('-OOM');
  return isFull ? new BackpressureError('memory of Redis', 'its maxmemory') : error;
}
