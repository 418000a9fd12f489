import type { Job as BullmqJob, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { loadBullmq } from '../connection/optional-dependencies.js';
import type { RedisSettings } from '../redis-options.js';
import { queueKey, redisKey } from '../scripts/keys.js';
import type { RedisDelivery } from './redis-delivery.js';
import type { SharedSlots } from './shared-slots.js';

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

/** Worker queue as a process serves it. */
export interface QueueSettings {
  readonly name: string;
  /** Number of jobs that the process runs at once. */
  readonly concurrency: number;
  /** Slots of which each job takes one; `undefined` if the jobs have slots of their own. */
  readonly slots: SharedSlots | undefined;
}

// BullMQ is compiled without strict null checks: its method returns `undefined` if there is no job.
const noJob = undefined as unknown as BullmqJob;
// BullMQ would fail the job by itself: countCrashScript counts losses instead.
const neverFailStalled = 1_000_000_000;

/** Queue of BullMQ with this process's worker. */
export class WorkerQueue {
  readonly name: string;
  /** Prefix of the queue's keys. */
  readonly key: string;
  /** Running deliveries by job id, in the order of their start. */
  readonly deliveries: Map<string, RedisDelivery> = new Map();
  readonly #connection: Redis;
  readonly #worker: Worker;
  readonly #stopped = new AbortController();
  #slots: SharedSlots | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(
    { name, concurrency, slots }: QueueSettings,
    { Worker, WaitingError }: Awaited<ReturnType<typeof loadBullmq>>,
    connection: Redis,
    { prefix, lockDurationMs, stalledIntervalMs }: RedisSettings,
    handle: JobHandler,
  ) {
    this.name = name;
    this.key = queueKey(prefix, name);
    this.#connection = connection;
    this.#slots = slots;
    const takenSlots = new Map<string, SharedSlots>();
    const takeSlot = (): Promise<SharedSlots | undefined | false> => this.#takeSlot();
    // Takes a slot before it asks Redis for a job, so that no job waits for a slot here while another process has one.
    class SlottedWorker extends Worker {
      protected override async moveToActive(token: string, workerName?: string): Promise<BullmqJob> {
        const slots = await takeSlot();
        if (slots === false) return noJob;
        try {
          const job = await super.moveToActive(token, workerName);
          if (job === noJob) slots?.release();
          else if (slots !== undefined) takenSlots.set(token, slots);
          return job;
        } catch (error) {
          slots?.release();
          throw error;
        }
      }
    }
    // Tells BullMQ that a script has moved the job. One instance serves all jobs, because errors are slow to create.
    const hasMoved = new WaitingError();
    this.#worker = new SlottedWorker(
      name,
      async ({ id = '', name: type, data, attemptsMade, stalledCounter: losses }, token = '') => {
        try {
          await handle(this, { id, type, data, token, attemptsMade, losses });
        } catch (error) {
          // The lock expires, and the job is delivered again. BullMQ must not fail it.
          this.#worker.emit('error', error instanceof Error ? error : new Error(String(error)));
        } finally {
          takenSlots.get(token)?.release();
          takenSlots.delete(token);
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

  /** Changes the concurrency and the slots; running jobs keep theirs. */
  change({ concurrency, slots }: QueueSettings): void {
    this.#worker.concurrency = concurrency;
    this.#slots = slots;
  }

  async start(): Promise<void> {
    await this.#worker.waitUntilReady();
    this.#running = this.#worker.run();
  }

  /** Takes no further job. */
  async pause(): Promise<void> {
    this.#stopped.abort();
    await this.#worker.pause(true);
  }

  /** Resolves when all handlers of jobs have resolved. */
  async close(): Promise<void> {
    await this.#worker.close(true);
    await this.#running;
  }

  async #takeSlot(): Promise<SharedSlots | undefined | false> {
    const slots = this.#slots;
    if (slots === undefined || slots.tryTake()) return slots;
    // This worker has consumed the marker of a job that another process may have a slot for.
    await this.#connection.zadd(`${this.key}marker`, 0, '0');
    return (await slots.take(this.#stopped.signal)) && slots;
  }
}
