import { randomUUID } from 'node:crypto';
import type { Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { loadBullmq } from '../connection/optional-dependencies.js';
import type { RedisSettings } from '../redis-options.js';
import { queueKey, redisKey } from '../scripts/keys.js';
import type { RedisDelivery } from './redis-delivery.js';
import type { Slots } from './slots.js';

/** Handles a job; resolves when the worker may take another one. */
export type JobHandler = (queue: WorkerQueue, job: Job) => Promise<void>;

/** Job as BullMQ passes it to a worker. */
export interface Job {
  readonly id: string;
  readonly type: string;
  /** Data as it is stored, not parsed. */
  readonly data: string;
  readonly token: string;
  /** Number of times that the job was started, this time included. */
  readonly starts: number;
  /** Number of attempts that ended. */
  readonly attemptsMade: number;
  /** Number of times that a process lost the job since its handler last reported. */
  readonly losses: number;
}

/** Worker queue as a process serves it. */
export interface QueueSettings {
  readonly name: string;
  /**
   * Number of running jobs at which BullMQ stops to fetch, which saves a command per job. It is fixed: BullMQ would not
   * notice a change until one of the jobs ends.
   */
  readonly maxJobs: number;
  /** Slots of which each job takes one; `undefined` if only the gate limits their number. */
  readonly slots: Slots | undefined;
}

// Reply of a fetch that finds no job: no data, no id, no rate limit, no due time.
const nothing: Awaited<ReturnType<Worker['backend']['moveToActive']>> = [null, '', 0, 0];
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
  /** Data of jobs that BullMQ has fetched, by the token of their fetch. BullMQ would fail to parse changed data. */
  readonly #data = new Map<string, string>();
  /** Slots that jobs have taken, by the token of their fetch. */
  readonly #takenSlots = new Map<string, Slots>();
  #slots: Slots | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(
    { name, maxJobs, slots }: QueueSettings,
    { Worker, WaitingError }: Awaited<ReturnType<typeof loadBullmq>>,
    connection: Redis,
    { prefix, lockDurationMs, stalledIntervalMs }: RedisSettings,
    processId: string,
    handle: JobHandler,
  ) {
    this.name = name;
    this.key = queueKey(prefix, name);
    this.#connection = connection;
    this.#slots = slots;
    // Tells BullMQ that a script has moved the job. One instance serves all jobs, because errors are slow to create.
    const hasMoved = new WaitingError();
    this.#worker = new Worker(
      name,
      async ({ id = '', name: type, attemptsMade, attemptsStarted: starts, stalledCounter: losses }, token = '') => {
        const data = this.#data.get(token) ?? '';
        this.#data.delete(token);
        try {
          await handle(this, { id, type, data, token, starts, attemptsMade, losses });
        } catch (error) {
          // The lock expires, and the job is delivered again. BullMQ must not fail it.
          this.#worker.emit('error', error instanceof Error ? error : new Error(String(error)));
        } finally {
          this.#releaseSlot(token);
        }
        throw hasMoved;
      },
      {
        connection,
        prefix: redisKey(prefix, 'queue'),
        autorun: false,
        concurrency: maxJobs,
        lockDuration: lockDurationMs,
        skipLockRenewal: true,
        stalledInterval: stalledIntervalMs,
        maxStalledCount: neverFailStalled,
        runRetryDelay: 1_000,
      },
    );
    this.#keepData();
    this.#takeSlots();
    // Tokens start with the id of the worker. BullMQ does not let its users set it.
    Object.assign(this.#worker, { id: `${processId}.${randomUUID()}` });
  }

  onError(listener: (error: Error) => void): void {
    this.#worker.on('error', listener);
  }

  /** Changes the slots; running jobs keep theirs. */
  use(slots: Slots | undefined): void {
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

  /** Passes the data of a job by BullMQ. */
  #keepData(): void {
    const { backend } = this.#worker;
    const moveToActive = backend.moveToActive.bind(backend);
    backend.moveToActive = async (token, workerName) => {
      const [job, ...rest] = await moveToActive(token, workerName);
      if (!job) return [job, ...rest];
      this.#data.set(token, job.data);
      return [{ ...job, data: '{}' }, ...rest];
    };
  }

  /**
   * Lets the worker take a slot before it asks Redis for a job, so that no job waits here while another process has a
   * slot. The worker must not wait for a slot while it fetches: it runs no fetched job meanwhile. It waits where it
   * would wait for a job.
   */
  #takeSlots(): void {
    const { backend } = this.#worker;
    const moveToActive = backend.moveToActive.bind(backend);
    const waitForJob = backend.waitForJob.bind(backend);
    let awaited: Slots | undefined;
    let reserved: Slots | undefined;

    backend.moveToActive = async (token, workerName) => {
      const slots = reserved ?? this.#slots;
      if (slots === undefined) return moveToActive(token, workerName);
      if (slots !== reserved && !slots.tryTake()) {
        awaited = slots;
        // The worker has consumed the marker of a job that another process may have a slot for.
        await this.#connection.zadd(`${this.key}marker`, 0, '0');
        return nothing;
      }
      reserved = undefined;
      this.#takenSlots.set(token, slots);
      try {
        const reply = await moveToActive(token, workerName);
        if (!reply[0]) this.#releaseSlot(token);
        return reply;
      } catch (error) {
        this.#releaseSlot(token);
        throw error;
      }
    };
    backend.waitForJob = async (timeoutSeconds) => {
      const slots = awaited;
      if (slots === undefined) return waitForJob(timeoutSeconds);
      awaited = undefined;
      if (await slots.take(this.#stopped.signal)) reserved = slots;
      return null;
    };
    this.#stopped.signal.addEventListener('abort', () => {
      reserved?.release();
      reserved = undefined;
    });
  }

  #releaseSlot(token: string): void {
    this.#takenSlots.get(token)?.release();
    this.#takenSlots.delete(token);
  }
}
