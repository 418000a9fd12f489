import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { systemClock } from '../../clock.js';
import { CrashLoopError } from '../../errors.js';
import { loneEvents, loneLimitMs } from '../../lone-events.js';
import type { Logger } from '../../transport.js';
import { prelude } from '../connection/keys.js';
import { readArray, readNumber, readOptional } from '../connection/reply.js';
import { Script } from '../connection/script.js';
import { discarding } from '../events/attempt-ends.js';
import { leases } from '../jobs/queue-jobs.js';
import { subscribed } from '../membership/subscription-fragments.js';
import { withoutArguments } from '../redis-errors.js';
import type { RedisSettings } from '../redis-options.js';
import { counters } from '../statistics/counters.js';
import type { Lease } from './lease-recorder.js';
import type { LeaseRenewal } from './lease-renewal.js';
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
    const reply = await countCrashScript.run(connection, settings.prefix, [queue.key, job.id, job.token]);
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
      clock: systemClock,
      limitMs,
      begin(isOnly) {
        isAlone = isOnly;
        start();
      },
      expose: (recorded) => {
        isAlone = false;
        void this.#expose(queue, job, ended.signal).then(recorded);
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
      if (!isLost) await deliver({ isAlone: () => isAlone });
    } finally {
      signal.removeEventListener('abort', start);
      ended.abort();
      end();
    }
  }

  async requeue(queue: WorkerQueue, job: Job, delayMs: number): Promise<void> {
    const { settings, connection } = this.#parts;
    await requeueJobScript.run(connection, settings.prefix, [queue.key, job.id, job.token, delayMs]);
  }

  /**
   * Does not wait for the reply: Redis receives the note before the handler can end its process. It has the script,
   * because `countCrashScript` is in the same library.
   */
  noteStart(queue: WorkerQueue, job: Job, isAlone: boolean): void {
    this.#note(queue, job, isAlone ? 'alone' : 'shared').catch((error: unknown) => this.#warn(job, error));
  }

  /** Resolves when a loss of the job no longer proves that it is the cause, or when its lease is over without Redis. */
  async #expose(queue: WorkerQueue, job: Job, ended: AbortSignal): Promise<void> {
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
    await noteStartScript.run(connection, settings.prefix, [queue.key, job.id, job.token, place]);
  }

  #warn(job: Job, error: unknown): void {
    const { logger } = this.#parts;
    logger.warn({ err: withoutArguments(error), eventType: job.type }, 'could not record the start of a handler');
  }
}

const countCrashScript: Script = new Script({
  name: 'countCrash',
  access: 'works',
  purpose:
    'Counts the losses in a row of a leased job. The first loss counts always, a later one only if noteStartScript had noted that the handler started. A job that was lost while it ran alone is the cause.',
  argv: 'queue, job id, token',
  reply: 'the count, and 1 if the job is the cause or 0; or nothing if the lease is lost',
  includes: [prelude, leases],
  lua: `
local queue, id, token = take(), take(), take()
if leaseOf(queue, id, token) ~= 'ok' then return nil end
local started, crashes = unpack(call('HMGET', queue .. id, 'started', 'crashes'))
call('HDEL', queue .. id, 'started')
if not crashes or started then crashes = call('HINCRBY', queue .. id, 'crashes', 1) end
if started == 'alone' then call('HSET', queue .. id, 'cause', 1) end
return { tonumber(crashes), call('HEXISTS', queue .. id, 'cause') }
`,
});

const noteStartScript: Script = new Script({
  name: 'noteStart',
  access: 'works',
  purpose:
    'Notes that the handler of a leased job starts, alone in its process or beside others; or that others join it.',
  argv: 'queue, job id, token, "alone" or "shared"',
  reply: 'nothing',
  includes: [prelude, leases],
  lua: `
local queue, id, token, place = take(), take(), take(), take()
if leaseOf(queue, id, token) ~= 'ok' then return end
-- Redis lets a script that has freed memory continue when memory is used up.
call('HDEL', queue .. id, 'started')
call('HSET', queue .. id, 'started', place)
`,
});

export const requeueJobScript: Script = new Script({
  name: 'requeueJob',
  access: 'works',
  purpose:
    'Returns a leased job that this process cannot run, or not now, to the gate of its type, or discards it if nothing subscribes to its type.',
  argv: 'queue, job id, token, delay in milliseconds',
  reply: 'nothing',
  includes: [prelude, counters, leases, subscribed, discarding],
  lua: `
local queue, id, token, delayMs = take(), take(), take(), takeNumber()
if leaseOf(queue, id, token) ~= 'ok' then return end
local serviceType, order = unpack(call('HMGET', queue .. id, 'serviceType', 'order'))
if isSubscribed(serviceType) then
  endLease(queue, id)
  countReturned(serviceType)
  -- The handler did not start.
  call('HDEL', queue .. id, 'leased')
  call('LPOP', key('starts', serviceType))
  uncountKeyStart(serviceType, queue .. id)
  -- Without the delay a process that is not yet, or no longer, part of the settlement would take it again at once.
  if queueKey(stateOf(serviceType).queue) == queue then
    enterLater(serviceType, id, delayMs)
  else
    enterGate(serviceType, id, order)
  end
  holdOnToKey(serviceType, queue .. id)
  changesOf(serviceType)
else
  discard(queue, id)
end
arrangeTypes()
writeChanges()
`,
});
