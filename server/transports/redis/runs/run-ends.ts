import type { Redis } from 'ioredis';
import { HubError } from '../../../errors.js';
import { errorOf } from '../../errors.js';
import type { RunRecord } from '../../event-record.js';
import { portionsOf, TickBatch } from '../../tick-batch.js';
import type { DroppedEvent, Logger } from '../../transport.js';
import type { CommandClient } from '../connection/command-client.js';
import { redisKey } from '../connection/keys.js';
import { readArray } from '../connection/reply.js';
import { scripts } from '../connection/script.js';
import { maxBatch, maxBatchLength } from '../connection/script-limits.js';
import { eventIdOf, runKeyOf, typeOf } from '../names.js';
import { translateReply, withoutArguments } from '../redis-errors.js';
import { readRun } from './stored-runs.js';

// A connection that is silent for longer is replaced: the messages of a lost one would never arrive.
const pingIntervalMs = 10_000;
const retryDelayMs = 1_000;

interface RunName {
  readonly serviceType: string;
  readonly jobId: string;
}

/** Run that callers wait for. */
interface AwaitedRun extends RunName {
  readonly waiters: Set<Waiter>;
  isReading: boolean;
  /** A message arrived during a read, whose reply may be older. */
  isStale: boolean;
}

interface Waiter {
  /** A read has shown that the run is pending. From then on its end reaches this process. */
  isRegistered: boolean;
  resolve(run: RunRecord | undefined): void;
  reject(error: unknown): void;
}

export interface RunEndsParts {
  readonly prefix: string;
  readonly processId: string;
  readonly commands: CommandClient;
  readonly logger: Logger;
}

/** Name of a lease of a job. */
export interface LeaseName extends RunName {
  /** Prefix of the keys of the job's queue. */
  readonly queue: string;
  /** Value of the job's lock while the lease lasts; `''` after its end. */
  readonly token: string;
  /** Number of times that the job was started, this lease included. */
  readonly starts: number;
}

/** Callbacks for the events and runs that this process runs. */
export interface RunListener {
  /** Another process has ended the event of a lease. */
  onInterrupted(lease: LeaseName, reason: Error): void;
  /** The transport has recorded an entry of the run. */
  onRecorded(serviceType: string, jobId: string): void;
  /** A run of the service has dropped an event. */
  onDropped(event: DroppedEvent): void;
  /** Messages may have been lost. */
  onReconnected(): void;
}

/** Ends of the runs that this process waits for, and messages for those that it runs. */
export class RunEnds {
  /** Announcements of what this process watches. They arrive over the same connection. */
  readonly announcements: Announcements;
  readonly #parts: RunEndsParts;
  readonly #connection: Redis;
  readonly #channel: string;
  readonly #runs = new Map<string, AwaitedRun>();
  readonly #reads: TickBatch<RunName, unknown>;
  readonly #timers = new Set<NodeJS.Timeout>();
  #ping: NodeJS.Timeout | undefined;

  constructor(connection: Redis, parts: RunEndsParts) {
    this.#connection = connection;
    this.#parts = parts;
    const { commands, processId } = parts;
    this.#channel = redisKey(parts.prefix, 'run-ends', processId);
    this.announcements = new Announcements(connection, parts.logger);
    const weigh = ({ serviceType, jobId }: RunName): number => serviceType.length + jobId.length;
    const limits = { maxSize: maxBatch, maxWeight: maxBatchLength, weigh };
    this.#reads = new TickBatch<RunName, unknown>(limits, async (runs) => {
      const args = [processId, runs.length, ...runs.flatMap(({ serviceType, jobId }) => [serviceType, jobId])];
      return readArray(await commands.runScript(scripts.awaitRuns, args));
    });
  }

  /**
   * @throws {RedisPermissionError} if the user may not subscribe to the channel of this process
   */
  async start(listener: RunListener): Promise<void> {
    this.#connection.on('message', (channel: string, message: string) => {
      if (channel !== this.#channel) return;
      const { reason, recorded, dropped, ...lease } = decodeMessage(message);
      const { serviceType, jobId } = lease;
      if (dropped !== undefined) {
        listener.onDropped(dropped);
        return;
      }
      if (recorded) {
        listener.onRecorded(serviceType, jobId);
        return;
      }
      if (reason !== undefined) listener.onInterrupted(lease, reason);
      const run = this.#runs.get(runKeyOf(serviceType, jobId));
      if (run !== undefined) this.#read(run);
    });
    try {
      await this.#subscribe();
    } catch (error) {
      throw translateReply(error);
    }
    this.#connection.on('ready', () => void this.#resubscribe(listener));
    this.#ping = setInterval(() => void this.#connection.ping().catch(() => {}), pingIntervalMs);
  }

  /**
   * Resolves when the run has ended; with `undefined` if it is unknown. A caller that waits before the end receives it,
   * however long the run is retained afterwards.
   */
  ended(serviceType: string, jobId: string, signal: AbortSignal): Promise<RunRecord | undefined> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const run = this.#awaited(serviceType, jobId);
      const leave = (): void => {
        signal.removeEventListener('abort', abort);
        run.waiters.delete(waiter);
        if (run.waiters.size === 0) this.#runs.delete(runKeyOf(serviceType, jobId));
      };
      const waiter: Waiter = {
        isRegistered: false,
        resolve: (record) => {
          leave();
          resolve(record);
        },
        reject: (error) => {
          leave();
          reject(error);
        },
      };
      const abort = (): void => waiter.reject(signal.reason);
      signal.addEventListener('abort', abort);
      run.waiters.add(waiter);
      this.#read(run);
    });
  }

  /** Reads all awaited runs: their ends may have been announced without this process. */
  readAgain(): void {
    for (const run of this.#runs.values()) this.#read(run);
  }

  close(): void {
    clearInterval(this.#ping);
    for (const timer of this.#timers) clearTimeout(timer);
    this.#connection.disconnect();
  }

  #awaited(serviceType: string, jobId: string): AwaitedRun {
    const known = this.#runs.get(runKeyOf(serviceType, jobId));
    const run = known ?? { serviceType, jobId, waiters: new Set(), isReading: false, isStale: false };
    this.#runs.set(runKeyOf(serviceType, jobId), run);
    return run;
  }

  #read(run: AwaitedRun): void {
    if (run.isReading) {
      run.isStale = true;
      return;
    }
    run.isReading = true;
    run.isStale = false;
    const waiters = [...run.waiters];
    this.#reads
      .add(run)
      .then((reply) => this.#settle(run, waiters, reply))
      .catch((error: unknown) => this.#fail(run, error))
      .finally(() => {
        run.isReading = false;
        if (run.isStale && run.waiters.size > 0) this.#read(run);
      });
  }

  #settle(run: AwaitedRun, waiters: readonly Waiter[], reply: unknown): void {
    if (reply === 'later') {
      run.isStale = true;
    } else if (reply === 'pending') {
      for (const waiter of waiters) waiter.isRegistered = true;
    } else {
      const record = reply === 'unknown' ? undefined : readRun(reply);
      for (const waiter of [...run.waiters]) waiter.resolve(record);
    }
  }

  /** A caller that was told to wait goes on waiting through an outage. */
  #fail(run: AwaitedRun, error: unknown): void {
    for (const waiter of [...run.waiters]) {
      if (!waiter.isRegistered) waiter.reject(error);
    }
    if (run.waiters.size === 0) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#read(run);
    }, retryDelayMs);
    this.#timers.add(timer);
  }

  async #subscribe(): Promise<void> {
    await this.#connection.subscribe(this.#channel);
  }

  async #resubscribe(listener: RunListener): Promise<void> {
    try {
      await this.#subscribe();
    } catch (error) {
      this.#parts.logger.warn({ err: withoutArguments(error) }, 'could not subscribe to ends of runs');
    }
    // Messages are lost while the connection is.
    this.readAgain();
    listener.onReconnected();
  }
}

interface Message extends LeaseName {
  readonly reason: Error | undefined;
  readonly recorded: boolean;
  readonly dropped: DroppedEvent | undefined;
}

function decodeMessage(message: string): Message {
  const { queue, serviceType, id, token, starts, reason, recorded, dropped, eventType } = Object(
    JSON.parse(message),
  ) as Record<string, unknown>;
  const run = { runType: typeOf(String(serviceType)), runId: eventIdOf(String(id)) };
  return {
    queue: String(queue),
    serviceType: String(serviceType),
    jobId: String(id),
    token: String(token),
    starts: Number(starts),
    reason: typeof reason === 'string' ? decodeReason(reason) : undefined,
    recorded: recorded === true,
    dropped:
      typeof dropped === 'number' ? { ...run, eventType: decodeURIComponent(String(eventType)), dropped } : undefined,
  };
}

/** Returns the reason for ending a run as it travels to the process that runs it. */
export function encodeReason(reason: Error): string {
  const code = HubError.is(reason) ? reason.code : undefined;
  return JSON.stringify({ name: reason.name, message: reason.message, code });
}

/** Decodes what {@link encodeReason} returned. */
export function decodeReason(json: string): Error {
  const { name, message, code } = Object(JSON.parse(json)) as Record<string, unknown>;
  return errorOf({ name: String(name), message: String(message), ...(typeof code === 'string' && { code }) });
}

const channelBatches = { maxSize: maxBatch, maxWeight: maxBatchLength, weigh: ({ length }: string) => length };

/** Channels that announce changes of what this process watches: runs and logs. */
class Announcements {
  readonly #connection: Redis;
  readonly #logger: Logger;
  readonly #watchers = new Map<string, Set<() => void>>();

  constructor(connection: Redis, logger: Logger) {
    this.#connection = connection;
    this.#logger = logger;
    connection.on('message', (channel: string) => this.#notify(channel));
    connection.on('ready', () => void this.#resubscribe());
  }

  /** Calls `onChange` after each announcement. @throws {RedisPermissionError} if the user may not subscribe to it */
  async watch(channel: string, onChange: () => void): Promise<() => void> {
    const watchers = this.#watchers.get(channel) ?? new Set();
    this.#watchers.set(channel, watchers);
    // Wrapped, so that one function can watch twice.
    const watcher = (): void => onChange();
    watchers.add(watcher);
    const end = (): void => {
      watchers.delete(watcher);
      if (watchers.size > 0 || this.#watchers.get(channel) !== watchers) return;
      this.#watchers.delete(channel);
      // A connection that is lost has no subscriptions.
      this.#connection.unsubscribe(channel).catch(() => {});
    };
    try {
      await this.#connection.subscribe(channel);
    } catch (error) {
      end();
      throw translateReply(error);
    }
    return end;
  }

  #notify(channel: string): void {
    for (const watcher of this.#watchers.get(channel) ?? []) watcher();
  }

  async #resubscribe(): Promise<void> {
    const channels = [...this.#watchers.keys()];
    if (channels.length === 0) return;
    try {
      for (const portion of portionsOf(channels, channelBatches)) await this.#connection.subscribe(...portion);
    } catch (error) {
      this.#logger.warn({ err: withoutArguments(error) }, 'could not subscribe to changes of runs and logs');
    }
    // Announcements are lost while the connection is.
    for (const channel of channels) this.#notify(channel);
  }
}
