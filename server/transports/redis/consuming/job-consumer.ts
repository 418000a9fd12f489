import type { Redis } from 'ioredis';
import { maxTimeoutMs } from '../../clock.js';
import type { Subscription } from '../../delivery.js';
import { LeaseLostError, ShutdownError } from '../../errors.js';
import type { CloseResult, ConsumeOptions, DroppedEvent, Logger } from '../../transport.js';
import { loadBullmq } from '../connection/bullmq.js';
import type { CommandClient } from '../connection/command-client.js';
import { readNumber } from '../connection/reply.js';
import { scripts } from '../connection/script.js';
import { argumentPortions } from '../connection/script-limits.js';
import { decodeAnyEnvelope } from '../jobs/event-codec.js';
import type { ServedQueue } from '../membership/rebalance.js';
import { serviceTypeOf } from '../names.js';
import { withoutArguments } from '../redis-errors.js';
import type { RedisSettings } from '../redis-options.js';
import type { LeaseName } from '../runs/run-ends.js';
import type { Lease, LeaseRecorder } from './lease-recorder.js';
import { EndedLeases, LeaseRenewal } from './lease-renewal.js';
import { LostJobs, type Redelivery } from './lost-jobs.js';
import { type LoadedRun, RedisDelivery, RunLoader } from './redis-delivery.js';
import { type Job, type QueueSettings, Slots, WorkerQueue } from './worker-queue.js';

// A process that the service has lost sight of may take jobs of types that it does not handle, until its next heartbeat.
const requeueDelayMs = 50;

/** Parts that a consumer shares with the other parts of its connection. */
export interface JobConsumerParts {
  readonly service: string;
  readonly processId: string;
  readonly settings: RedisSettings;
  readonly logger: Logger;
  readonly commands: CommandClient;
  readonly connection: Redis;
  readonly recorder: LeaseRecorder;
}

/** Takes jobs from the worker queues of a service and passes them on as deliveries. */
export class JobConsumer {
  readonly #parts: JobConsumerParts;
  readonly #options: ConsumeOptions;
  readonly #subscriptions: ReadonlyMap<string, Subscription>;
  readonly #slots: Slots;
  /** By the name of a queue. */
  readonly #ownSlots = new Map<string, Slots>();
  readonly #renewal: LeaseRenewal;
  readonly #queues = new Map<string, WorkerQueue>();
  /** Queues that this process no longer serves, until their last job has ended. */
  readonly #ending = new Set<WorkerQueue>();
  readonly #overdue: OverdueHandlers;
  readonly #endedLeases: EndedLeases;
  readonly #lostJobs: LostJobs;
  readonly #runs: RunLoader;
  #serving: Promise<void> = Promise.resolve();
  #isClosing = false;

  constructor(parts: JobConsumerParts, options: ConsumeOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#slots = new Slots(options.concurrency);
    this.#renewal = new LeaseRenewal(parts.connection, parts.settings, parts.logger);
    this.#runs = new RunLoader(parts.connection, parts.settings.prefix);
    this.#overdue = new OverdueHandlers(parts.logger);
    this.#endedLeases = new EndedLeases(parts);
    this.#lostJobs = new LostJobs({ ...parts, renewal: this.#renewal, endedLeases: this.#endedLeases });
    this.#subscriptions = new Map(options.subscriptions.map((subscription) => [subscription.type, subscription]));
    this.#renewal.start();
  }

  /**
   * Starts and stops workers, so that this process serves these queues and no others.
   *
   * @throws {MissingPackageError}
   */
  serve(served: readonly ServedQueue[]): Promise<void> {
    const serving = this.#serving.then(() => this.#serve(served));
    this.#serving = serving.catch(() => {});
    return serving;
  }

  async #serve(served: readonly ServedQueue[]): Promise<void> {
    const names = new Set(served.map(({ name }) => name));
    for (const queue of this.#queues.values()) if (!names.has(queue.name)) this.#end(queue);
    await Promise.all(served.map((queue) => this.#begin(queue)));
  }

  async #begin({ name, slots }: ServedQueue): Promise<void> {
    if (this.#isClosing) return;
    const { processId, settings, connection, recorder, logger } = this.#parts;
    const current = this.#queues.get(name);
    if (current !== undefined) return current.use(this.#slotsOf(name, slots));
    const bullmq = await loadBullmq();
    const queueSettings: QueueSettings = {
      name,
      slots: this.#slotsOf(name, slots),
      onError: (error) =>
        logger.warn({ err: withoutArguments(error), queue: name }, 'worker error; the worker retries'),
    };
    const parts = { connection, settings, recorder, processId };
    const queue = new WorkerQueue(queueSettings, bullmq, parts, (from, job) => this.#handle(from, job));
    this.#queues.set(name, queue);
    await queue.start();
  }

  #slotsOf(name: string, slots: ServedQueue['slots']): Slots | undefined {
    if (slots === 'none') return undefined;
    if (slots === 'shared') return this.#slots;
    const own = this.#ownSlots.get(name) ?? new Slots(this.#options.concurrency);
    this.#ownSlots.set(name, own);
    return own;
  }

  #end(queue: WorkerQueue): void {
    if (queue.deliveries.size > 0 || this.#isClosing) return;
    this.#queues.delete(queue.name);
    this.#ending.add(queue);
    queue.pause();
    const { logger } = this.#parts;
    void queue
      .close()
      .then(() => this.#release(queue, []))
      .catch((error: unknown) =>
        logger.warn({ err: withoutArguments(error), queue: queue.name }, 'a worker did not close cleanly'),
      )
      .finally(() => this.#ending.delete(queue));
  }

  /** Returns the delivery of a job that runs in this process. */
  #find(serviceType: string, jobId: string): RedisDelivery | undefined {
    for (const { deliveries } of this.#all()) {
      const delivery = deliveries.get(jobId);
      if (delivery?.lease.serviceType === serviceType) return delivery;
    }
    return undefined;
  }

  /** Lets the delivery of a run read what was recorded for it. */
  readNewEntries(serviceType: string, jobId: string): void {
    if (!this.#runs.noteEntry(serviceType, jobId)) this.#find(serviceType, jobId)?.readNewEntries();
  }

  /** Interrupts the delivery of an event that another process has ended. */
  interrupt(lease: LeaseName, reason: Error): void {
    const { serviceType, jobId, token, starts } = lease;
    const delivery = this.#find(serviceType, jobId);
    if (delivery?.lease.token === token && delivery.lease.starts === starts) delivery.interrupt(reason);
    else this.#endedLeases.add(lease);
  }

  /** Reports that a run of the service dropped an event. */
  dropped(event: DroppedEvent): void {
    this.#options.onDropped?.(event);
  }

  /** Lets all deliveries of runs read it, after messages may have been lost. */
  readAllNewEntries(): void {
    this.#runs.noteAll();
    for (const delivery of this.#running()) if (delivery.lease.retainsRuns) delivery.readNewEntries();
  }

  /** Number of handlers that run, overdue ones included. */
  get active(): number {
    return this.#running().length + this.#overdue.running;
  }

  /** Waits for running deliveries and handlers, then releases the rest. */
  async close(drainMs: number): Promise<CloseResult> {
    this.#isClosing = true;
    this.#lostJobs.close();
    const { settings, connection, logger } = this.#parts;
    // A queue that is starting waits for Redis, however long that is gone.
    await within(settings.emitTimeoutMs, this.#serving);
    const queues = this.#all();
    for (const queue of queues) queue.pause();
    await this.#drained(drainMs);
    const released = await Promise.all(queues.map((queue) => this.#interrupt(queue)));
    const overdue = this.#overdue.abandon();
    // A queue closes when Redis has replied to its last commands, commits included: without Redis, never.
    const ends = [...queues.map((queue) => queue.close()), ...this.#running().map(({ finished }) => finished)];
    await within(
      settings.emitTimeoutMs,
      Promise.all(ends).catch((error: unknown) => {
        logger.warn({ err: withoutArguments(error) }, 'a worker did not close cleanly');
      }),
    );
    this.#renewal.stop();
    this.#endedLeases.close();
    connection.disconnect();
    // A worker that was about to take a job may have consumed the marker that wakes other workers.
    await Promise.all(queues.map((queue) => this.#release(queue, [])));
    return { released: released.reduce((sum, count) => sum + count, 0), overdue };
  }

  async #handle(queue: WorkerQueue, job: Job): Promise<void> {
    const subscription = this.#subscriptions.get(job.type);
    if (this.#isClosing) {
      await this.#release(queue, [[job.id, job.token]]);
    } else if (subscription === undefined) {
      await this.#lostJobs.requeue(queue, job, requeueDelayMs);
    } else if (job.losses === 0) {
      await this.#deliver(queue, job, subscription);
    } else {
      const deliver = (redelivery: Redelivery): Promise<void> => this.#deliver(queue, job, subscription, redelivery);
      await this.#lostJobs.redeliver(queue, job, this.#leaseOf(queue, job, subscription), deliver);
    }
  }

  async #deliver(
    queue: WorkerQueue,
    job: Job,
    subscription: Subscription,
    { crashLoop, isAlone }: Redelivery = {},
  ): Promise<void> {
    const { recorder } = this.#parts;
    const lease = this.#leaseOf(queue, job, subscription);
    const { jobId, token } = lease;
    const run = await this.#loadRun(lease, job);
    // Closing may have begun since the job arrived. It interrupts deliveries that are registered.
    if (this.#isClosing) {
      await this.#release(queue, [[jobId, token]]);
      return;
    }
    if (run === undefined || this.#endedLeases.has(lease)) {
      this.#endedLeases.free(lease);
      return;
    }
    const { envelope, refusal = crashLoop } = decodeAnyEnvelope(jobId, job.type, job.data);
    const delivery = new RedisDelivery(lease, recorder, {
      envelope,
      attempt: job.attemptsMade + 1,
      isAdmitted: job.isAdmitted,
      refusal,
      checkpoints: run.checkpoints,
      dueInMs: run.dueInMs,
      offers: run.offers,
    });
    queue.deliveries.set(jobId, delivery);
    const endRenewal = this.#renewal.hold(lease, (interruption) => {
      if (interruption === undefined) delivery.revoke(new LeaseLostError());
      else delivery.interrupt(interruption);
    });
    if (job.losses > 0 && refusal === undefined) this.#lostJobs.noteStart(queue, job, isAlone?.() ?? false);
    void delivery.finished.then(() => {
      endRenewal();
      if (queue.deliveries.get(jobId) === delivery) queue.deliveries.delete(jobId);
      this.#overdue.add(delivery);
    });
    this.#options.onDelivery(delivery);
    if (run.isStale) delivery.readNewEntries();
    await delivery.slotFree;
    // Until Redis has the outcome, the loss of the job would prove that it is the cause.
    if (isAlone !== undefined) await delivery.finished;
  }

  #leaseOf(queue: WorkerQueue, { id, token, starts }: Job, { type, retainsRuns = false }: Subscription): Lease {
    const serviceType = serviceTypeOf(this.#parts.service, type);
    return { queue: queue.key, jobId: id, token, starts, serviceType, retainsRuns };
  }

  /** Reads the record of a run; an event has none. Returns `undefined` if the lease was lost meanwhile. */
  async #loadRun(lease: Lease, { askedAt }: Job): Promise<LoadedRun | undefined> {
    const isHeld = (): Promise<boolean> => this.#renewal.holds(lease, askedAt);
    if (lease.retainsRuns) return this.#runs.load(lease, isHeld);
    return (await isHeld()) ? { checkpoints: new Map(), isStale: false } : undefined;
  }

  async #drained(drainMs: number): Promise<void> {
    if (drainMs > 0) await within(drainMs, this.#idle());
  }

  async #idle(): Promise<void> {
    await Promise.all(this.#running().map(({ finished }) => finished));
    await this.#overdue.returned();
  }

  #all(): readonly WorkerQueue[] {
    return [...this.#queues.values(), ...this.#ending];
  }

  #running(): readonly RedisDelivery[] {
    return this.#all().flatMap(({ deliveries }) => [...deliveries.values()]);
  }

  async #interrupt(queue: WorkerQueue): Promise<number> {
    const running = [...queue.deliveries.values()];
    const jobs = running.map(({ lease }) => [lease.jobId, lease.token]);
    // Before another process can take the event.
    for (const delivery of running) delivery.revoke(new ShutdownError());
    return this.#release(queue, jobs, true);
  }

  /** @param jobs ids and tokens; without any it wakes another worker */
  async #release(queue: WorkerQueue, jobs: readonly (readonly string[])[], wereStarted = false): Promise<number> {
    const { commands, logger } = this.#parts;
    const head = [queue.key, wereStarted ? 1 : 0];
    // The first jobs last: each call puts its jobs in front of the queue.
    const portions = jobs.length === 0 ? [[]] : [...argumentPortions(jobs)].map(({ args }) => args).reverse();
    try {
      let released = 0;
      for (const args of portions) {
        released += readNumber(await commands.runScript(scripts.releaseJobs, [...head, ...args]));
      }
      return released;
    } catch (error) {
      logger.warn(
        { err: withoutArguments(error) },
        'could not release events; other processes take them when their locks expire',
      );
      return 0;
    }
  }
}

/** Handlers of a process that run on although their attempt has its outcome. */
class OverdueHandlers {
  readonly #deliveries = new Set<RedisDelivery>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Adds a delivery with an outcome, if its handler runs. */
  add(delivery: RedisDelivery): void {
    if (delivery.overdue === undefined) return;
    this.#deliveries.add(delivery);
    delivery.overdue
      .catch((error: unknown) => {
        this.#logger.warn(
          { err: withoutArguments(error), eventType: delivery.envelope.type },
          'could not free the slot of an overdue handler; it is freed when this process ends',
        );
      })
      .finally(() => this.#deliveries.delete(delivery));
  }

  /** Number of handlers. */
  get running(): number {
    return this.#deliveries.size;
  }

  /** Resolves when all handlers have returned and their slots are free. */
  async returned(): Promise<void> {
    await Promise.allSettled([...this.#deliveries].map(({ overdue }) => overdue));
  }

  /** Frees the slots of this process although handlers run; returns the number of these handlers. */
  abandon(): number {
    for (const delivery of this.#deliveries) delivery.abandon();
    return this.#deliveries.size;
  }
}

/** Resolves when the promise does, and after `ms` milliseconds at the latest. */
async function within(ms: number, done: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.min(ms, maxTimeoutMs));
  });
  await Promise.race([done, deadline]);
  clearTimeout(timer);
}
