import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { type EventStarter, loneEvents } from '../../lone-events.js';
import { awaitOwnMarker, type Bullmq, openQueueBackend, type QueueBackend } from '../connection/bullmq.js';
import { queueKey } from '../connection/keys.js';
import { argumentBatches } from '../connection/script-limits.js';
import { isTransient } from '../redis-errors.js';
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
  /** Slots of which each job takes one; `undefined` if only the gate limits their number. */
  readonly slots: Slots | undefined;
  /** Called for each error after which the queue continues. */
  readonly onError: (error: Error) => void;
}

/** Parts that the queues of a process share. */
export interface WorkerQueueParts {
  readonly connection: Redis;
  readonly settings: RedisSettings;
  readonly recorder: LeaseRecorder;
  readonly processId: string;
}

// Time for which a worker waits for a job before it looks for one without being woken.
const idleWaitMs = 5_000;
const retryDelayMs = 1_000;

/**
 * Queue of BullMQ that this process serves. Jobs come from the gates, several per call. BullMQ's backend wakes a worker
 * that waits for a job, and finds the jobs of lost processes.
 */
export class WorkerQueue implements EventStarter {
  readonly name: string;
  /** Prefix of the queue's keys. */
  readonly key: string;
  /** Running deliveries by job id, in the order of their start. */
  readonly deliveries: Map<string, RedisDelivery> = new Map();
  readonly #connection: Redis;
  readonly #backend: QueueBackend;
  readonly #stopped = new AbortController();
  readonly #recorder: LeaseRecorder;
  readonly #handle: JobHandler;
  readonly #onError: (error: Error) => void;
  readonly #processId: string;
  readonly #tokenPrefix: string;
  readonly #stalledIntervalMs: number;
  readonly #awaitingResume = new Set<() => void>();
  /** Chains of jobs, each in one slot after another. */
  readonly #chains = new Set<Promise<void>>();
  #slots: Slots | undefined;
  #fetches = 0;
  #active = 0;
  /** The last fetch found no job. */
  #isDrained = false;
  /** Time on the clock of `performance` at which the next job is due. */
  #dueAt: number | undefined;
  #running: Promise<unknown> = Promise.resolve();
  #leaveProcess = (): void => {};

  constructor(
    { name, slots, onError }: QueueSettings,
    bullmq: Bullmq,
    { connection, settings, recorder, processId }: WorkerQueueParts,
    handle: JobHandler,
  ) {
    this.name = name;
    this.key = queueKey(settings.prefix, name);
    this.#recorder = recorder;
    this.#connection = connection;
    this.#slots = slots;
    this.#handle = handle;
    this.#onError = onError;
    this.#processId = processId;
    this.#tokenPrefix = `${processId}.${randomUUID()}`;
    this.#stalledIntervalMs = settings.stalledIntervalMs;
    this.#backend = openQueueBackend(bullmq, name, { connection, settings, isBlocking: true });
    this.#backend.on('error', onError);
    this.#stopped.signal.addEventListener('abort', () => this.resume());
  }

  /** Changes the slots; running jobs retain theirs. */
  use(slots: Slots | undefined): void {
    this.#slots = slots;
  }

  async start(): Promise<void> {
    await this.#backend.waitUntilReady();
    await awaitOwnMarker(this.#backend, this.#processId);
    if (this.#stopped.signal.aborted) return;
    this.#leaveProcess = loneEvents.join(this);
    this.#running = Promise.all([this.#takeJobs(), this.#recoverJobs()]);
  }

  /** Takes no further job. */
  pause(): void {
    this.#stopped.abort();
  }

  /** Resolves when all handlers of jobs have resolved. */
  async close(): Promise<void> {
    this.pause();
    try {
      await this.#backend.close(true);
      await this.#running;
      await Promise.all(this.#chains);
    } finally {
      this.#leaveProcess();
    }
  }

  /** Number of fetches, and of the jobs that they found. */
  get active(): number {
    return this.#active;
  }

  resume(): void {
    for (const resume of this.#awaitingResume) resume();
    this.#awaitingResume.clear();
  }

  /**
   * Fetches jobs while there are jobs and slots; each chain then continues by itself. Twice as many are fetched at a time
   * as long as all are found: a backlog soon has all slots, and an idle queue is asked for one job at a time.
   */
  async #takeJobs(): Promise<void> {
    let wanted = 1;
    while (!this.#stopped.signal.aborted) {
      const wasWoken = this.#isDrained && (await this.#waitForJob());
      const reserved = await this.#reserve(wasWoken);
      if (reserved === undefined) continue;
      const { slots } = reserved;
      const fetches = [this.#takeJob(slots)];
      while (fetches.length < wanted && (slots === undefined || slots.tryTake())) fetches.push(this.#takeJob(slots));
      const areFound = (await Promise.all(fetches)).every((isFound) => isFound);
      wanted = areFound ? Math.min(wanted * 2, argumentBatches.maxSize) : 1;
    }
  }

  /** Fetches a job, and begins its chain. Resolves with `false` if there is none. */
  async #takeJob(slots: Slots | undefined): Promise<boolean> {
    const job = await this.#fetch(slots);
    if (job === undefined) return false;
    const chain = this.#runChain(job, slots);
    this.#chains.add(chain);
    void chain.finally(() => this.#chains.delete(chain));
    return true;
  }

  /** Handles a job, then the next one at once: its fetch shares the call that records the outcome. */
  async #runChain(first: Job, slots: Slots | undefined): Promise<void> {
    let job: Job | undefined = first;
    let taken = slots;
    while (job !== undefined) {
      try {
        await this.#handle(this, job);
      } catch (error) {
        // The lock expires, and the job is delivered again.
        this.#onError(error instanceof Error ? error : new Error(String(error)));
      }
      this.#end(taken);
      if (this.#stopped.signal.aborted || loneEvents.isReserved) return;
      taken = this.#slots;
      if (taken !== undefined && !taken.tryTake()) return;
      job = await this.#fetch(taken);
    }
  }

  /** Leases the next job, which takes the slot. */
  async #fetch(slots: Slots | undefined): Promise<Job | undefined> {
    this.#active += 1;
    const token = `${this.#tokenPrefix}:${this.#fetches++}`;
    const askedAt = performance.now();
    try {
      const { job, dueInMs } = await this.#recorder.fetch(this.name, token);
      if (job !== undefined) {
        this.#isDrained = false;
        return { ...job, token, askedAt };
      }
      this.#isDrained = true;
      this.#dueAt = dueInMs === undefined ? undefined : performance.now() + dueInMs;
      this.#end(slots);
    } catch (error) {
      this.#report(error);
      this.#end(slots);
      await this.#pauseFor(retryDelayMs);
    }
    return undefined;
  }

  #end(slots: Slots | undefined): void {
    slots?.release();
    this.#active -= 1;
    loneEvents.check();
  }

  /**
   * Takes a slot before Redis is asked for a job, so that no job waits here while another process has a slot. Resolves
   * with `undefined` if the worker takes no further job.
   *
   * @param wasWoken if this worker has consumed the marker of a job that another process may be free for
   */
  async #reserve(wasWoken: boolean): Promise<{ readonly slots: Slots | undefined } | undefined> {
    let hasMarker = wasWoken;
    const returnMarker = async (): Promise<void> => {
      if (!hasMarker) return;
      hasMarker = false;
      await this.#connection.zadd(`${this.key}marker`, 0, '0');
    };
    const { signal } = this.#stopped;
    try {
      while (!signal.aborted) {
        if (loneEvents.isReserved) {
          await returnMarker();
          await this.#resumed();
          continue;
        }
        const slots = this.#slots;
        if (slots === undefined || slots.tryTake()) return { slots };
        await returnMarker();
        if (!(await slots.take(signal))) return undefined;
        if (!loneEvents.isReserved) return { slots };
        slots.release();
      }
      await returnMarker();
    } catch (error) {
      this.#report(error);
    }
    return undefined;
  }

  /** Resolves when a job may be there, with `true` if the marker of one was consumed. */
  async #waitForJob(): Promise<boolean> {
    const { minimumBlockTimeout, maximumBlockTimeout = minimumBlockTimeout } = this.#backend;
    const dueInMs = this.#dueAt === undefined ? idleWaitMs : this.#dueAt - performance.now();
    if (dueInMs <= 0) return false;
    try {
      const seconds = Math.min(Math.max(dueInMs / 1000, minimumBlockTimeout), maximumBlockTimeout);
      return (await this.#backend.waitForJob(seconds)) !== null;
    } catch (error) {
      this.#report(error);
      await this.#pauseFor(retryDelayMs);
      if (!this.#stopped.signal.aborted) await this.#backend.reconnectBlocking().catch((lost) => this.#report(lost));
      return false;
    }
  }

  /** Resolves when jobs may start beside each other, or the worker takes no further job. */
  async #resumed(): Promise<void> {
    if (!loneEvents.isReserved || this.#stopped.signal.aborted) return;
    await new Promise<void>((resolve) => this.#awaitingResume.add(resolve));
  }

  /** Searches for jobs of lost processes until the worker stops. */
  async #recoverJobs(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      try {
        await this.#backend.moveStalledJobsToWait();
      } catch (error) {
        this.#report(error);
      }
      await this.#pauseFor(this.#stalledIntervalMs);
    }
  }

  /** Resolves after a time, or when the worker takes no further job. */
  async #pauseFor(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#stopped.signal }).catch(() => {});
  }

  /** The loss of the connection is logged where it is noticed. */
  #report(error: unknown): void {
    if (this.#stopped.signal.aborted || isTransient(error)) return;
    this.#onError(error instanceof Error ? error : new Error(String(error)));
  }
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
