import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { TransportUnavailableError } from '../../errors.js';
import type { Logger } from '../../transport.js';
import {
  isRefusedDatabase,
  isTransient,
  NoReplyError,
  RedisDatabaseError,
  repeatDelayMs,
  translateReply,
  wasNotExecuted,
  withoutArguments,
} from '../redis-errors.js';
import type { RedisSettings } from '../redis-options.js';
import { connectRedis, logConnection } from './connect-redis.js';
import type { Script, ScriptArgument } from './script.js';

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
  readonly #awaitingReady = new Set<(refusal?: Error) => void>();
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
   * @throws {TransportUnavailableError | BackpressureError | RedisCommandError | RedisPermissionError | RedisDatabaseError}
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
      if (!isRefusedDatabase(error)) return;
      const refusal = new RedisDatabaseError(this.#settings.client.db ?? 0, withoutArguments(error));
      for (const proceed of [...this.#awaitingReady]) proceed(refusal);
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
    return deadline.wait((resolve, reject) => {
      const proceed = (refusal?: Error): void => (refusal === undefined ? resolve(undefined) : reject(refusal));
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

// A timer that fires later than this shows that something blocked the event loop.
const maxLatenessMs = 20;
// A block costs one of them, wherever it ends.
const parts = 10;

/**
 * Time limit of several promises, with one timer for all of them. Time during which the event loop was blocked does not
 * count: replies that arrived meanwhile are read before the limit ends.
 */
export class Deadline {
  isOver = false;
  readonly #ms: number;
  readonly #waiting = new Set<(error: Error) => void>();
  #timer: NodeJS.Timeout | undefined;
  #turn: NodeJS.Immediate | undefined;

  constructor(ms: number) {
    this.#ms = ms;
    this.#arm(ms);
  }

  /** Settles like `promise`, which nothing else may wait for, or rejects when the time is over. */
  race<T>(promise: Promise<T>): Promise<T> {
    return this.wait((resolve, reject) => {
      promise.then(resolve, reject);
      return () => {};
    });
  }

  /**
   * Resolves or rejects as `start` decides, or rejects when the time is over.
   *
   * @param start returns a function that ends its subscription
   */
  wait<T>(start: (resolve: (value: T) => void, reject: (error: unknown) => void) => () => void): Promise<T> {
    return new Promise((resolve, reject) => {
      let stop = (): void => {};
      const end = (): void => {
        this.#waiting.delete(expire);
        stop();
      };
      const expire = (error: Error): void => {
        end();
        reject(error);
      };
      this.#waiting.add(expire);
      stop = start(
        (value) => {
          end();
          resolve(value);
        },
        (error) => {
          end();
          reject(error);
        },
      );
      if (this.isOver) expire(new NoReplyError());
    });
  }

  cancel(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#turn);
  }

  #arm(leftMs: number): void {
    const partMs = Math.min(leftMs, Math.ceil(this.#ms / parts));
    const dueAt = performance.now() + partMs;
    this.#timer = setTimeout(() => {
      const lateness = performance.now() - dueAt;
      if (leftMs > partMs) {
        this.#arm(leftMs - partMs);
      } else if (lateness > maxLatenessMs) {
        this.#arm(Math.min(lateness, this.#ms));
      } else {
        // Timers run before the sockets are read.
        this.#turn = setImmediate(() => this.#expire());
      }
    }, partMs);
  }

  #expire(): void {
    this.isOver = true;
    for (const expire of [...this.#waiting]) expire(new NoReplyError());
  }
}
