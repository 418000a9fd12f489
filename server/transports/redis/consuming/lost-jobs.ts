import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { systemClock } from '../../clock.js';
import { CrashLoopError } from '../../errors.js';
import { loneEvents, loneLimitMs } from '../../lone-events.js';
import type { Logger } from '../../transport.js';
import { readArray, readNumber, readOptional } from '../connection/reply.js';
import { scripts } from '../connection/script.js';
import { eventIdOf } from '../names.js';
import { withoutArguments } from '../redis-errors.js';
import type { RedisSettings } from '../redis-options.js';
import type { Lease } from './lease-recorder.js';
import type { EndedLeases, LeaseRenewal } from './lease-renewal.js';
import type { Job, WorkerQueue } from './worker-queue.js';

// A job that has to run alone waits for another such job, and for those that have their turn.
const loneDelayMs = 200;
const repeatDelayMs = 1_000;

/** Parts of a connection that {@link LostJobs} uses. */
export interface LostJobsParts {
  readonly settings: RedisSettings;
  readonly logger: Logger;
  readonly connection: Redis;
  readonly renewal: LeaseRenewal;
  readonly endedLeases: EndedLeases;
}

/** Delivery of a job that a process lost. */
export interface Redelivery {
  /** Set if the job ended too many processes. */
  readonly crashLoop?: CrashLoopError;
  /** Returns `true` while no other event runs in the process; `undefined` if others may. */
  readonly isAlone?: () => boolean;
}

/**
 * Jobs that a process lost. A process that dies loses all jobs that it runs, and nothing shows which of them was the
 * cause. On its last chance a job runs alone in its process: only its loss then proves that it is the cause.
 */
export class LostJobs {
  readonly #parts: LostJobsParts;
  readonly #maxCrashes: number;
  readonly #closing = new AbortController();

  constructor(parts: LostJobsParts) {
    this.#parts = parts;
    this.#maxCrashes = parts.settings.maxCrashes;
  }

  /** Delivers the job that waits for others to end, because the consumer releases it now. */
  close(): void {
    this.#closing.abort();
  }

  /**
   * Delivers a job that a process lost, now or later.
   *
   * @param deliver resolves when the delivery has ended
   */
  async redeliver(
    queue: WorkerQueue,
    job: Job,
    lease: Lease,
    deliver: (redelivery: Redelivery) => Promise<void>,
  ): Promise<void> {
    const { settings, connection } = this.#parts;
    const reply = await scripts.countCrash.run(connection, settings.prefix, [queue.key, job.id, job.token]);
    const counts = readOptional(reply, readArray);
    if (counts === undefined) return;
    const [crashes = 0, isCause] = counts.map(readNumber);
    if (isCause === 1 && crashes >= this.#maxCrashes) {
      await deliver({ crashLoop: new CrashLoopError(job.type, crashes) });
    } else if (crashes < this.#maxCrashes - 1) {
      await deliver({});
    } else {
      await this.#deliverAlone(queue, job, lease, loneLimitMs(crashes - this.#maxCrashes + 1), deliver);
    }
  }

  async #deliverAlone(
    queue: WorkerQueue,
    job: Job,
    lease: Lease,
    limitMs: number,
    deliver: (redelivery: Redelivery) => Promise<void>,
  ): Promise<void> {
    const ended = new AbortController();
    const { signal } = this.#closing;
    let isAlone = false;
    let isLost = false;
    let start = (): void => {};
    const started = new Promise<void>((resolve) => {
      start = resolve;
    });
    const end = loneEvents.reserve({
      id: eventIdOf(job.id),
      clock: systemClock,
      limitMs,
      begin(isOnly) {
        isAlone = isOnly;
        start();
      },
      recordShared: (recorded) => {
        isAlone = false;
        void this.#recordShared(queue, job, ended.signal).then(recorded);
      },
    });
    if (end === undefined) return this.requeue(queue, job, loneDelayMs);
    const endRenewal = this.#parts.renewal.hold(lease, () => {
      isLost = true;
      start();
    });
    signal.addEventListener('abort', start);
    if (signal.aborted) start();
    try {
      await started;
      endRenewal();
      if (isLost) this.#parts.endedLeases.free(lease);
      else await deliver({ isAlone: () => isAlone });
    } finally {
      signal.removeEventListener('abort', start);
      ended.abort();
      end();
    }
  }

  async requeue(queue: WorkerQueue, job: Job, delayMs: number): Promise<void> {
    const { settings, connection } = this.#parts;
    await scripts.requeueJob.run(connection, settings.prefix, [queue.key, job.id, job.token, delayMs]);
  }

  /**
   * Does not wait for the reply: Redis receives the note before the handler can end its process. It has the script,
   * because `scripts.countCrash` is in the same library.
   */
  noteStart(queue: WorkerQueue, job: Job, isAlone: boolean): void {
    this.#note(queue, job, isAlone ? 'alone' : 'shared').catch((error: unknown) => this.#warn(job, error));
  }

  /** Resolves when a loss of the job no longer proves that it is the cause, or when its lease is over without Redis. */
  async #recordShared(queue: WorkerQueue, job: Job, ended: AbortSignal): Promise<void> {
    const until = performance.now() + this.#parts.settings.lockDurationMs;
    while (!ended.aborted && performance.now() < until) {
      try {
        await this.#note(queue, job, 'shared');
        return;
      } catch (error) {
        this.#warn(job, error);
        await delay(repeatDelayMs);
      }
    }
  }

  async #note(queue: WorkerQueue, job: Job, place: 'alone' | 'shared'): Promise<void> {
    const { settings, connection } = this.#parts;
    await scripts.noteStart.run(connection, settings.prefix, [queue.key, job.id, job.token, place]);
  }

  #warn(job: Job, error: unknown): void {
    const { logger } = this.#parts;
    logger.warn({ err: withoutArguments(error), eventType: job.type }, 'could not record the start of a handler');
  }
}
