import type { Redis } from 'ioredis';
import { CrashLoopError, LeaseLostError, ShutdownError } from '../errors.js';
import type { Logger } from '../logger.js';
import type { ConsumeOptions, Subscription } from '../transport.js';
import type { CommandClient } from './command-client.js';
import { decodeEnvelope } from './envelope-codec.js';
import { type Job, Lane } from './lane.js';
import { handBackScript } from './lua/commit.js';
import { crashesScript, noteStartScript } from './lua/crashes.js';
import { passOnScript } from './lua/membership.js';
import { unitOf } from './names.js';
import { loadQueue } from './peers.js';
import { type DeliveryHost, type Lease, RedisDelivery } from './redis-delivery.js';
import type { RedisSettings } from './redis-options.js';
import { readHash, readNumber, readOptional } from './reply.js';
import { laneOptions } from './routes.js';
import { readCheckpoints } from './run-reader.js';

/** What a consumer works with. */
export interface ConsumerParts {
  readonly service: string;
  readonly settings: RedisSettings;
  readonly logger: Logger;
  readonly commands: CommandClient;
  readonly connection: Redis;
  readonly host: DeliveryHost;
}

/** Takes jobs from the lanes of a service and makes deliveries of them. */
export class Consumer {
  readonly #parts: ConsumerParts;
  readonly #options: ConsumeOptions;
  readonly #subscriptions: ReadonlyMap<string, Subscription>;
  #lanes: readonly Lane[] = [];
  #isClosing = false;
  #isLastChanceTaken = false;

  constructor(parts: ConsumerParts, options: ConsumeOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#subscriptions = new Map(options.subscriptions.map((subscription) => [subscription.type, subscription]));
  }

  /** @param heldLanes where events of the service wait, also of types that had another lane before */
  async start(heldLanes: readonly string[]): Promise<void> {
    const { service, settings, connection, logger } = this.#parts;
    const queue = await loadQueue();
    this.#lanes = laneOptions(service, this.#options, heldLanes).map((options) => {
      const lane = new Lane(options, queue, connection, settings, (from, job) => this.#handle(from, job));
      lane.onError((error) => logger.warn({ err: error, lane: options.name }, 'a worker met an error and goes on'));
      lane.onLeasesLost((jobIds) => {
        for (const jobId of jobIds) lane.deliveries.get(jobId)?.revoke(new LeaseLostError());
      });
      return lane;
    });
    await Promise.all(this.#lanes.map((lane) => lane.start()));
  }

  /** The delivery of a job that this process runs now. */
  find(unit: string, jobId: string): RedisDelivery | undefined {
    for (const { deliveries } of this.#lanes) {
      const delivery = deliveries.get(jobId);
      if (delivery?.lease.unit === unit) return delivery;
    }
    return undefined;
  }

  /** Waits for what runs, hands back what is left at the deadline, and answers how much that was. */
  async close(drainMs: number): Promise<number> {
    this.#isClosing = true;
    await Promise.all(this.#lanes.map((lane) => lane.pause()));
    await this.#drained(drainMs);
    const handedBack = await Promise.all(this.#lanes.map((lane) => this.#interrupt(lane)));
    const { settings, connection, logger } = this.#parts;
    // A lane ends when Redis has answered what it asked last, outcomes included: without Redis, never.
    const ends = [...this.#lanes.map((lane) => lane.close()), ...this.#running().map(({ finished }) => finished)];
    await within(
      settings.emitTimeoutMs,
      Promise.all(ends).catch((error: unknown) => {
        logger.warn({ err: error }, 'a worker did not close cleanly');
      }),
    );
    connection.disconnect();
    // One that was about to take a job may have taken the word of it, which others wait for.
    await Promise.all(this.#lanes.map((lane) => this.#handBack(lane, [])));
    return handedBack.reduce((sum, count) => sum + count, 0);
  }

  async #handle(lane: Lane, job: Job): Promise<void> {
    const subscription = this.#subscriptions.get(job.type);
    if (this.#isClosing) {
      await this.#handBack(lane, [job.id, job.token]);
    } else if (subscription === undefined) {
      await this.#passOn(lane, job, 50);
    } else if (job.losses === 0) {
      await this.#deliver(lane, job, subscription);
    } else {
      await this.#deliverAgain(lane, job, subscription);
    }
  }

  /**
   * A process that dies takes all that it ran with it, and nothing tells what of it was to blame. So that one
   * event does not take others down with it to the end, those on their last chance run one at a time.
   */
  async #deliverAgain(lane: Lane, job: Job, subscription: Subscription): Promise<void> {
    const { settings, connection } = this.#parts;
    const answer = await crashesScript.run(connection, settings.prefix, [lane.key, job.id, job.token]);
    const crashes = readOptional(answer, readNumber);
    if (crashes === undefined) return;
    if (crashes >= settings.maxCrashes) {
      await this.#deliver(lane, job, subscription, new CrashLoopError(job.type, crashes));
    } else if (crashes < settings.maxCrashes - 1) {
      await this.#deliver(lane, job, subscription);
    } else if (this.#isLastChanceTaken) {
      await this.#passOn(lane, job, 200);
    } else {
      this.#isLastChanceTaken = true;
      await this.#deliver(lane, job, subscription).finally(() => {
        this.#isLastChanceTaken = false;
      });
    }
  }

  async #passOn(lane: Lane, job: Job, delayMs: number): Promise<void> {
    const { settings, connection } = this.#parts;
    await passOnScript.run(connection, settings.prefix, [lane.key, job.id, job.token, delayMs]);
  }

  async #deliver(
    lane: Lane,
    job: Job,
    { type, keepsRuns = false }: Subscription,
    refusal?: CrashLoopError,
  ): Promise<void> {
    const { service, host } = this.#parts;
    const unit = unitOf(service, type);
    const lease: Lease = { lane: lane.key, jobId: job.id, token: job.token, unit, keepsRuns };
    const delivery = new RedisDelivery(lease, host, {
      envelope: decodeEnvelope(job.id, type, job.data),
      attempt: job.attemptsMade + 1,
      checkpoints: keepsRuns ? await this.#checkpoints(unit, job.id) : new Map(),
      refusal,
    });
    lane.deliveries.set(job.id, delivery);
    if (job.losses > 0 && refusal === undefined) this.#noteStart(lane, job);
    void delivery.finished.then(() => {
      if (lane.deliveries.get(job.id) === delivery) lane.deliveries.delete(job.id);
    });
    this.#options.onDelivery(delivery);
    await delivery.handedOn;
  }

  /** Not waited for: a note that left before the handler began tells of one that did begin, and of no other. */
  #noteStart(lane: Lane, job: Job): void {
    const { settings, connection, logger } = this.#parts;
    noteStartScript.runInFull(connection, settings.prefix, [lane.key, job.id, job.token]).catch((error: unknown) => {
      logger.warn({ err: error, eventType: job.type }, 'the start of a handler could not be noted');
    });
  }

  async #checkpoints(unit: string, jobId: string): Promise<ReadonlyMap<string, string>> {
    const { settings, connection } = this.#parts;
    const answer = await connection.hgetall(`${settings.prefix}:run:${unit}:${jobId}:checkpoints`);
    return readCheckpoints(readHash(Object.entries(answer).flat()));
  }

  async #drained(drainMs: number): Promise<void> {
    if (drainMs > 0) await within(drainMs, Promise.all(this.#running().map(({ finished }) => finished)));
  }

  #running(): readonly RedisDelivery[] {
    return this.#lanes.flatMap(({ deliveries }) => [...deliveries.values()]);
  }

  async #interrupt(lane: Lane): Promise<number> {
    const running = [...lane.deliveries.values()];
    const handedBack = await this.#handBack(
      lane,
      running.flatMap(({ lease }) => [lease.jobId, lease.token]),
    );
    for (const delivery of running) delivery.revoke(new ShutdownError());
    return handedBack;
  }

  async #handBack(lane: Lane, jobsAndTokens: readonly string[]): Promise<number> {
    const { settings, commands, logger } = this.#parts;
    try {
      const args = [lane.key, ...jobsAndTokens];
      return readNumber(
        await commands.run((client) => handBackScript.run(client, settings.prefix, args), { isRepeatable: true }),
      );
    } catch (error) {
      // Others take it over when the locks have run out.
      logger.warn({ err: error }, 'events could not be handed back');
      return 0;
    }
  }
}

async function within(ms: number, done: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.min(ms, 2 ** 31 - 1));
  });
  await Promise.race([done, deadline]);
  clearTimeout(timer);
}
