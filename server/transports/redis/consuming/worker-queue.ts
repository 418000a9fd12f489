import type { Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { loadBullmq } from '../connection/optional-dependencies.js';
import type { QueueSettings } from '../membership/subscription-table.js';
import type { RedisSettings } from '../redis-options.js';
import { queueKey, redisKey } from '../scripts/keys.js';
import type { RedisDelivery } from './redis-delivery.js';

/** Handles a job; resolves when the worker may take another one. */
export type JobHandler = (queue: WorkerQueue, job: Job) => Promise<void>;

/** Job as BullMQ passes it to a worker. */
export interface Job {
  readonly id: string;
  readonly type: string;
  readonly data: unknown;
  readonly token: string;
  /** Number of attempts that ended. */
  readonly attemptsMade: number;
  /** Number of times that a process lost the job since its handler last reported. */
  readonly losses: number;
}

// BullMQ would fail the job by itself: countCrashScript counts losses instead.
const neverFailStalled = 1_000_000_000;

/** Queue of BullMQ with this process's worker. */
export class WorkerQueue {
  /** Prefix of the queue's keys. */
  readonly key: string;
  /** Running deliveries by job id, in the order of their start. */
  readonly deliveries: Map<string, RedisDelivery> = new Map();
  readonly #worker: Worker;
  #running: Promise<void> = Promise.resolve();

  constructor(
    { name, concurrency }: QueueSettings,
    { Worker, WaitingError }: Awaited<ReturnType<typeof loadBullmq>>,
    connection: Redis,
    { prefix, lockDurationMs, stalledIntervalMs }: RedisSettings,
    handle: JobHandler,
  ) {
    this.key = queueKey(prefix, name);
    // Tells BullMQ that a script has moved the job. One instance serves all jobs, because errors are slow to create.
    const hasMoved = new WaitingError();
    this.#worker = new Worker(
      name,
      async ({ id = '', name: type, data, attemptsMade, stalledCounter: losses }, token = '') => {
        try {
          await handle(this, { id, type, data, token, attemptsMade, losses });
        } catch (error) {
          // The lock expires, and the job is delivered again. BullMQ must not fail it.
          this.#worker.emit('error', error instanceof Error ? error : new Error(String(error)));
        }
        throw hasMoved;
      },
      {
        connection,
        prefix: redisKey(prefix, 'queue'),
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

  /** Resolves when all handlers of jobs have resolved. */
  async close(): Promise<void> {
    await this.#worker.close(true);
    await this.#running;
  }
}
