import type { Redis } from 'ioredis';
import { CrashLoopError } from '../../errors.js';
import type { Logger } from '../../logger.js';
import { withoutArguments } from '../redis-errors.js';
import type { RedisSettings } from '../redis-options.js';
import { readNumber, readOptional } from '../scripts/reply.js';
import { countCrashScript, noteStartScript } from './crash-scripts.js';
import { requeueJobScript } from './requeue-job-script.js';
import type { Job, WorkerQueue } from './worker-queue.js';

// A job on its last attempt before the crash limit waits for another such job to end.
const lastChanceDelayMs = 200;

/** Parts of a connection that {@link LostJobs} uses. */
export interface LostJobsParts {
  readonly settings: RedisSettings;
  readonly logger: Logger;
  readonly connection: Redis;
}

/**
 * Jobs that a process lost. A process that dies loses all jobs that it runs, and nothing shows which of them was the
 * cause. Jobs on their last chance run one at a time, so that the cause does not fail others with it.
 */
export class LostJobs {
  readonly #parts: LostJobsParts;
  #isLastChanceRunning = false;

  constructor(parts: LostJobsParts) {
    this.#parts = parts;
  }

  /**
   * Delivers a job that a process lost, now or later.
   *
   * @param deliver resolves when the delivery has ended; receives an error if the job was lost too often
   */
  async redeliver(queue: WorkerQueue, job: Job, deliver: (crashLoop?: CrashLoopError) => Promise<void>): Promise<void> {
    const { settings, connection } = this.#parts;
    const reply = await countCrashScript.run(connection, settings.prefix, [queue.key, job.id, job.token]);
    const crashes = readOptional(reply, readNumber);
    if (crashes === undefined) return;
    if (crashes >= settings.maxCrashes) {
      await deliver(new CrashLoopError(job.type, crashes));
    } else if (crashes < settings.maxCrashes - 1) {
      await deliver();
    } else if (this.#isLastChanceRunning) {
      await this.requeue(queue, job, lastChanceDelayMs);
    } else {
      this.#isLastChanceRunning = true;
      await deliver().finally(() => {
        this.#isLastChanceRunning = false;
      });
    }
  }

  async requeue(queue: WorkerQueue, job: Job, delayMs: number): Promise<void> {
    const { settings, connection } = this.#parts;
    await requeueJobScript.run(connection, settings.prefix, [queue.key, job.id, job.token, delayMs]);
  }

  /** Does not wait for the reply: Redis receives the note before the handler can end its process. */
  noteStart(queue: WorkerQueue, job: Job): void {
    const { settings, connection, logger } = this.#parts;
    noteStartScript.loadAndRun(connection, settings.prefix, [queue.key, job.id, job.token]).catch((error: unknown) => {
      logger.warn({ err: withoutArguments(error), eventType: job.type }, 'could not note that a handler starts');
    });
  }
}
