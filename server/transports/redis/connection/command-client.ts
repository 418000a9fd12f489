import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { BackpressureError, TransportUnavailableError } from '../../errors.js';
import type { Logger } from '../../logger.js';
import { logOutages, reconnectDelayMs } from './connection-log.js';
import { connectRedis } from './optional-dependencies.js';
import type { RedisSettings } from '../redis-options.js';

const retryDelayMs = 10;

/**
 * Runs commands that somebody waits for: each answers, or rejects within `emitTimeoutMs`. Connects at
 * the first command. After `close` each command opens a connection of its own.
 */
export class CommandClient {
  readonly #settings: RedisSettings;
  readonly #logger: Logger;
  #client: Promise<Redis> | undefined;
  /** Resolves when a connection that is lost is back. */
  #readiness: Promise<void> | undefined;
  #lastError: unknown;
  #running = 0;
  #isClosed = false;

  constructor(settings: RedisSettings, logger: Logger) {
    this.#settings = settings;
    this.#logger = logger;
  }

  /**
   * @param command may be called again where `isRepeatable`, after its connection was lost
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
          if (isAnswer(error)) throw translate(error);
          if (!isRepeatable || deadline.isOver) throw this.#unavailable(error);
          // A client may call itself ready for a moment after its connection was lost.
          await delay(retryDelayMs);
        }
      }
    } finally {
      deadline.cancel();
      this.#running -= 1;
      if (this.#isClosed) await this.#disconnectIfIdle();
    }
  }

  /** Keeps its connection from now on, also after a `close`. */
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
      // A connection that does not answer is as good as none: it is given up for a new one.
      socketTimeout: this.#settings.emitTimeoutMs,
      retryStrategy: reconnectDelayMs,
    });
    logOutages(connection, this.#logger);
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

/** A time by which things must be done, with one timer for all of them. */
class Deadline {
  isOver = false;
  readonly #over: Promise<never>;
  readonly #timer: NodeJS.Timeout;

  constructor(ms: number) {
    let expire = (_error: Error): void => {};
    this.#over = new Promise((_, reject) => {
      expire = reject;
    });
    // Where nobody is waiting any more, nobody has to know.
    this.#over.catch(() => {});
    this.#timer = setTimeout(() => {
      this.isOver = true;
      expire(new Error('no answer in time'));
    }, ms);
  }

  race<T>(promise: Promise<T>): Promise<T> {
    return Promise.race([promise, this.#over]);
  }

  cancel(): void {
    clearTimeout(this.#timer);
  }
}

/** Whether Redis itself said no, and would say it again. */
function isAnswer(error: unknown): error is Error {
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
