import { randomUUID } from 'node:crypto';
import type { Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { loadBullmq } from '../connection/optional-dependencies.js';
import type { SendTurn } from '../connection/send-turn.js';
import { type FetchedJob, JobFetches } from '../gate/job-fetches.js';
import type { RedisSettings } from '../redis-options.js';
import { queueKey, redisKey } from '../scripts/keys.js';
import type { RedisDelivery } from './redis-delivery.js';
import type { Slots } from './slots.js';

/** Handles a job; resolves when the worker may take another one. */
export type JobHandler = (queue: WorkerQueue, job: Job) => Promise<void>;

/** Job with the token of its lease. */
export interface Job extends FetchedJob {
  readonly token: string;
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

/** Parts that the queues of a process share. */
export interface WorkerQueueParts {
  readonly connection: Redis;
  readonly settings: RedisSettings;
  readonly turn: SendTurn;
  readonly processId: string;
}

type Fetched = Awaited<ReturnType<Worker['backend']['moveToActive']>>;

// Reply of a fetch that finds no job: no data, no id, no rate limit, no due time.
const nothing: Fetched = [null, '', 0, 0];
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
  readonly #fetches: JobFetches;
  /** Fetched jobs, by their token. BullMQ would fail to parse changed data. */
  readonly #fetched = new Map<string, FetchedJob>();
  /** Slots that jobs have taken, by the token of their fetch. */
  readonly #takenSlots = new Map<string, Slots>();
  #slots: Slots | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(
    { name, maxJobs, slots }: QueueSettings,
    { Worker, WaitingError }: Awaited<ReturnType<typeof loadBullmq>>,
    { connection, settings, turn, processId }: WorkerQueueParts,
    handle: JobHandler,
  ) {
    const { prefix, lockDurationMs, stalledIntervalMs } = settings;
    this.name = name;
    this.key = queueKey(prefix, name);
    this.#fetches = new JobFetches(name, connection, settings, turn);
    this.#connection = connection;
    this.#slots = slots;
    // Tells BullMQ that a script has moved the job. One instance serves all jobs, because errors are slow to create.
    const hasMoved = new WaitingError();
    this.#worker = new Worker(
      name,
      async (_, token = '') => {
        const job = this.#fetched.get(token);
        this.#fetched.delete(token);
        try {
          if (job !== undefined) await handle(this, { ...job, token });
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
    this.#fetchJobs();
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

  /** Lets BullMQ fetch jobs from the gates. */
  #fetchJobs(): void {
    this.#worker.backend.moveToActive = async (token) => {
      const { job, dueInMs } = await this.#fetches.fetch(token);
      if (job === undefined) return dueInMs === undefined ? nothing : [null, '', 0, Date.now() + dueInMs];
      this.#fetched.set(token, job);
      return [jobJson(job), job.id, 0, 0];
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

function jobJson({ id, type, acceptedAt, starts, attemptsMade, losses }: FetchedJob): NonNullable<Fetched[0]> {
  return {
    id,
    name: type,
    data: '{}',
    opts: {},
    progress: 0,
    timestamp: acceptedAt,
    attemptsStarted: starts,
    attemptsMade,
    stalledCounter: losses,
    failedReason: '',
    // BullMQ parses it.
    returnvalue: 'null',
  };
}
