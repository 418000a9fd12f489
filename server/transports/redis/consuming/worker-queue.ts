import { randomUUID } from 'node:crypto';
import type { Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { type EventStarter, loneEvents } from '../../lone-events.js';
import type { loadBullmq } from '../connection/connect-redis.js';
import { queueKey, redisKey } from '../connection/keys.js';
import type { RedisSettings } from '../redis-options.js';
import type { FetchedJob, LeaseRecorder } from './lease-recorder.js';
import type { RedisDelivery } from './redis-delivery.js';

/** Handles a job; resolves when the worker may take another one. */
export type JobHandler = (queue: WorkerQueue, job: Job) => Promise<void>;

/** Job with the token of its lease. */
export interface Job extends FetchedJob {
  readonly token: string;
  /** Time on the clock of `performance` before which the lease did not begin. */
  readonly askedAt: number;
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
  readonly recorder: LeaseRecorder;
  readonly processId: string;
}

type Popped = ReturnType<Awaited<NonNullable<Worker['backend']['blockingConnection']>['client']>['bzpopmin']>;
type Fetched = Awaited<ReturnType<Worker['backend']['moveToActive']>>;

// Reply of a fetch that finds no job: no data, no id, no rate limit, no due time.
const nothing: Fetched = [null, '', 0, 0];
// BullMQ would fail the job by itself: scripts.countCrash counts losses instead.
const neverFailStalled = 1_000_000_000;

/** Queue of BullMQ with this process's worker. */
export class WorkerQueue implements EventStarter {
  readonly name: string;
  /** Prefix of the queue's keys. */
  readonly key: string;
  /** Running deliveries by job id, in the order of their start. */
  readonly deliveries: Map<string, RedisDelivery> = new Map();
  readonly #connection: Redis;
  readonly #worker: Worker;
  readonly #stopped = new AbortController();
  readonly #recorder: LeaseRecorder;
  readonly #processId: string;
  /** Fetched jobs, by their token. BullMQ would fail to parse changed data. */
  readonly #fetched = new Map<string, Omit<Job, 'token'>>();
  /** Fetches and the jobs that they found, by their token, with the slots that they have taken. */
  readonly #active = new Map<string, Slots | undefined>();
  readonly #awaitingResume = new Set<() => void>();
  #slots: Slots | undefined;
  #running: Promise<void> = Promise.resolve();
  #leaveProcess = (): void => {};

  constructor(
    { name, maxJobs, slots }: QueueSettings,
    { Worker, WaitingError }: Awaited<ReturnType<typeof loadBullmq>>,
    { connection, settings, recorder, processId }: WorkerQueueParts,
    handle: JobHandler,
  ) {
    const { prefix, lockDurationMs, stalledIntervalMs } = settings;
    this.name = name;
    this.key = queueKey(prefix, name);
    this.#recorder = recorder;
    this.#processId = processId;
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
          this.#end(token);
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
    await this.#hearOwnMarker();
    if (this.#stopped.signal.aborted) return;
    this.#leaveProcess = loneEvents.join(this);
    this.#running = this.#worker.run();
  }

  /** Lets the worker wait for the marker of its process too, which wakes no other one. */
  async #hearOwnMarker(): Promise<void> {
    const client = await this.#worker.backend.blockingConnection?.client;
    if (client === undefined) return;
    // BullMQ declares the one key that it uses, but this is a client of ioredis, which takes several.
    const pop = client.bzpopmin.bind(client) as unknown as (...args: [string, string, number]) => Popped;
    client.bzpopmin = (marker, timeout) => pop(marker, `${marker}:${this.#processId}`, timeout);
  }

  /** Takes no further job. */
  async pause(): Promise<void> {
    this.#stopped.abort();
    await this.#worker.pause(true);
  }

  /** Resolves when all handlers of jobs have resolved. */
  async close(): Promise<void> {
    try {
      await this.#worker.close(true);
      await this.#running;
    } finally {
      this.#leaveProcess();
    }
  }

  get active(): number {
    return this.#active.size;
  }

  resume(): void {
    for (const resume of this.#awaitingResume) resume();
    this.#awaitingResume.clear();
  }

  /** Lets BullMQ fetch jobs from the gates. */
  #fetchJobs(): void {
    this.#worker.backend.moveToActive = async (token) => {
      const askedAt = performance.now();
      const { job, dueInMs } = await this.#recorder.fetch(this.name, token);
      if (job === undefined) return dueInMs === undefined ? nothing : [null, '', 0, Date.now() + dueInMs];
      this.#fetched.set(token, { ...job, askedAt });
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
    let awaited: Slots | 'resume' | undefined;
    let reserved: Slots | undefined;
    const waitFor = async (what: Slots | 'resume'): Promise<typeof nothing> => {
      awaited = what;
      // The worker has consumed the marker of a job that another process may be free for.
      await this.#connection.zadd(`${this.key}marker`, 0, '0');
      return nothing;
    };

    backend.moveToActive = async (token, workerName) => {
      if (loneEvents.isReserved) return waitFor('resume');
      const slots = reserved ?? this.#slots;
      if (slots !== undefined && slots !== reserved && !slots.tryTake()) return waitFor(slots);
      reserved = undefined;
      this.#active.set(token, slots);
      try {
        const reply = await moveToActive(token, workerName);
        if (!reply[0]) this.#end(token);
        return reply;
      } catch (error) {
        this.#end(token);
        throw error;
      }
    };
    backend.waitForJob = async (timeoutSeconds) => {
      const what = awaited;
      if (what === undefined) return waitForJob(timeoutSeconds);
      awaited = undefined;
      if (what === 'resume') await this.#resumed();
      else if (await what.take(this.#stopped.signal)) reserved = what;
      return null;
    };
    this.#stopped.signal.addEventListener('abort', () => {
      reserved?.release();
      reserved = undefined;
      this.resume();
    });
  }

  /** Resolves when jobs may start beside each other, or the worker takes no further job. */
  async #resumed(): Promise<void> {
    if (!loneEvents.isReserved || this.#stopped.signal.aborted) return;
    await new Promise<void>((resolve) => this.#awaitingResume.add(resolve));
  }

  #end(token: string): void {
    this.#active.get(token)?.release();
    this.#active.delete(token);
    loneEvents.check();
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

/** Slots of a process for jobs. Worker queues may share them. */
export class Slots {
  readonly #waiting = new Set<(isTaken: boolean) => void>();
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  /** Takes a slot if one is free. */
  tryTake(): boolean {
    if (this.#free === 0) return false;
    this.#free -= 1;
    return true;
  }

  /** Resolves with `true` when a slot is taken, with `false` when the signal aborts. */
  take(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false);
    if (this.tryTake()) return Promise.resolve(true);
    return new Promise((resolve) => {
      const settle = (isTaken: boolean): void => {
        this.#waiting.delete(settle);
        signal.removeEventListener('abort', abort);
        resolve(isTaken);
      };
      const abort = (): void => settle(false);
      signal.addEventListener('abort', abort);
      this.#waiting.add(settle);
    });
  }

  release(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#free += 1;
    else next(true);
  }
}
