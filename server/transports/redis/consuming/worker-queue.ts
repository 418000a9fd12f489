import type { Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { laneKey } from '../names.js';
import type { loadQueue } from '../connection/optional-dependencies.js';
import type { RedisDelivery } from './redis-delivery.js';
import type { RedisSettings } from '../redis-options.js';

/** What a lane does with a job: resolves when this process has nothing more to do with it. */
export type JobHandler = (lane: Lane, job: Job) => Promise<void>;

/** A job as BullMQ hands it out. */
export interface Job {
  readonly id: string;
  readonly type: string;
  readonly data: unknown;
  readonly token: string;
  /** Attempts that ended. */
  readonly attemptsMade: number;
  /** How often a process lost it, since it last reported. */
  readonly losses: number;
}

export interface LaneOptions {
  readonly name: string;
  readonly concurrency: number;
}

// Ours, not BullMQ's, counts how often a job was lost: BullMQ would fail it behind the hub's back.
const neverFailStalled = 1_000_000_000;

/** One queue of BullMQ and this process's worker on it. */
export class Lane {
  readonly key: string;
  /** In the order of their start. */
  readonly deliveries: Map<string, RedisDelivery> = new Map();
  readonly #worker: Worker;
  #running: Promise<void> = Promise.resolve();

  constructor(
    { name, concurrency }: LaneOptions,
    { Worker, WaitingError }: Awaited<ReturnType<typeof loadQueue>>,
    connection: Redis,
    { prefix, lockDurationMs, stalledIntervalMs }: RedisSettings,
    handle: JobHandler,
  ) {
    this.key = laneKey(prefix, name);
    // Wherever a job is then, a script has put it there. One for all, for making an error takes its time.
    const movedOn = new WaitingError();
    this.#worker = new Worker(
      name,
      async ({ id = '', name: type, data, attemptsMade, stalledCounter: losses }, token = '') => {
        try {
          await handle(this, { id, type, data, token, attemptsMade, losses });
        } catch (error) {
          // The job's lock runs out, and it is delivered again. BullMQ must not take it for failed.
          this.#worker.emit('error', error instanceof Error ? error : new Error(String(error)));
        }
        throw movedOn;
      },
      {
        connection,
        prefix: `${prefix}:lane`,
        autorun: false,
        concurrency,
        lockDuration: lockDurationMs,
        stalledInterval: stalledIntervalMs,
        maxStalledCount: neverFailStalled,
        runRetryDelay: 1_000,
      },
    );
  }

  onError(listener: (error: Error) => void): void {
    this.#worker.on('error', listener);
  }

  onLeasesLost(listener: (jobIds: readonly string[]) => void): void {
    this.#worker.on('lockRenewalFailed', listener);
  }

  async start(): Promise<void> {
    await this.#worker.waitUntilReady();
    this.#running = this.#worker.run();
  }

  /** Takes no further job. */
  async pause(): Promise<void> {
    await this.#worker.pause(true);
  }

  /** Resolves when no job is left that this process was handed. */
  async close(): Promise<void> {
    await this.#worker.close(true);
    await this.#running;
  }
}
