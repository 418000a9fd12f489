import { randomUUID } from 'node:crypto';
import { setImmediate as endOfTurn } from 'node:timers/promises';
import type { CloseResult, ConsumeOptions, Logger, PausedTypes } from '../../transport.js';
import { checkBullmq } from '../connection/bullmq.js';
import type { CommandClient } from '../connection/command-client.js';
import { checkServer, connectConsumer } from '../connection/connect-redis.js';
import type { DataEpoch } from '../connection/data-epoch.js';
import { loadScripts } from '../connection/script.js';
import { Membership } from '../membership/membership.js';
import { RebalanceListener } from '../membership/rebalance.js';
import { withoutArguments } from '../redis-errors.js';
import type { RedisSettings } from '../redis-options.js';
import { RunEnds } from '../runs/run-ends.js';
import { HistoryRoll } from '../statistics/history-roll.js';
import { JobConsumer } from './job-consumer.js';
import type { LeaseRecorder } from './lease-recorder.js';

/** Parts of a connection that {@link Consumption} uses. */
export interface ConsumptionParts {
  readonly service: string;
  readonly settings: RedisSettings;
  readonly logger: Logger;
  readonly commands: CommandClient;
  readonly epoch: DataEpoch;
  readonly recorder: LeaseRecorder;
}

/**
 * Part of a process in its service: its membership, the jobs that it takes, and the messages about runs. It has up to
 * three clients: one for consuming, one that hears of rebalances, one that hears of events that others end, and of runs.
 */
export class Consumption {
  readonly #parts: ConsumptionParts;
  /** Names this process in Redis: as a member, in the tokens of its leases, and in the channel of its runs. */
  readonly #processId = randomUUID();
  #membership: Membership | undefined;
  #consumer: JobConsumer | undefined;
  #rebalances: RebalanceListener | undefined;
  #roll: HistoryRoll | undefined;
  #runEnds: Promise<RunEnds> | undefined;
  #closing: AbortController = new AbortController();
  #paused: PausedTypes | undefined;
  #isClosed = false;

  constructor(parts: ConsumptionParts) {
    this.#parts = parts;
  }

  /** Id of the process as a member of its service; `''` if it is none. */
  get memberId(): string {
    return this.#membership?.id ?? '';
  }

  async start(options: ConsumeOptions): Promise<void> {
    const { subscriptions } = options;
    const { service, settings, logger, commands, recorder } = this.#parts;
    const parts = { service, processId: this.#processId, settings, logger, commands };
    this.#isClosed = false;
    this.#closing = new AbortController();
    await commands.run((client) => checkServer(client, logger), { isRepeatable: true });
    await commands.run(loadScripts, { isRepeatable: true });
    const membership = new Membership({ ...parts, active: () => this.#consumer?.active ?? 0 }, options, this.#paused);
    this.#membership = membership;
    membership.onRegisteredAgain(() => void this.#runEnds?.then((runEnds) => runEnds.readAgain()).catch(() => {}));
    const roll = new HistoryRoll(commands, this.#processId, logger);
    this.#roll = roll;
    membership.onHeartbeat(() => void roll.run());
    if (subscriptions.length === 0) return this.#join(membership);
    await commands.run((client) => checkBullmq(client, settings.prefix), { isRepeatable: true });
    const connection = await connectConsumer(settings, logger);
    recorder.use(connection);
    const consumer = new JobConsumer({ ...parts, connection, recorder }, options);
    this.#consumer = consumer;
    this.#rebalances = new RebalanceListener(await connectConsumer(settings, logger), logger);
    const serve = new CoalescedTask(async () => consumer.serve(await membership.servedQueues()));
    const serveLater = (): void => {
      serve.run().catch((error: unknown) => {
        logger.warn(
          { err: withoutArguments(error) },
          'could not serve the queues of the service; the next heartbeat repeats it',
        );
      });
    };
    // Listens before it joins, so that it does not miss a rebalance in between.
    await this.#rebalances.start(settings.prefix, service, serveLater);
    // And before it takes an event, so that it misses no message about it.
    await this.listening();
    membership.onHeartbeat(() => {
      serveLater();
      void roll.run();
    });
    await this.#join(membership);
    await serve.run();
  }

  /** Connects for messages about runs, with the first call. Returns `undefined` after `close`. */
  listening(): Promise<RunEnds> | undefined {
    if (this.#isClosed) return undefined;
    this.#runEnds ??= this.#listen().catch((error: unknown) => {
      this.#runEnds = undefined;
      throw error;
    });
    return this.#runEnds;
  }

  /**
   * Resolves when the waits for runs that callers began in this turn are on their way. Without them a run that ends
   * next might not be retained for these callers.
   */
  async waitsSent(): Promise<void> {
    if (this.#runEnds === undefined) return;
    await this.#runEnds.catch(() => {});
    await endOfTurn();
  }

  /** Starts nothing of some types in the service. Before `start` it is noted for the registration of the process. */
  async pause(paused: PausedTypes): Promise<void> {
    this.#paused = paused;
    await this.#membership?.pause(paused);
  }

  async close(drainMs: number): Promise<CloseResult> {
    const { recorder, epoch } = this.#parts;
    this.#rebalances?.close();
    this.#rebalances = undefined;
    // Its runs receive messages until they have ended.
    const result = (await this.#consumer?.close(drainMs)) ?? { released: 0, overdue: 0 };
    this.#consumer = undefined;
    recorder.use(undefined);
    await epoch.close();
    const rollClosed = this.#roll?.close();
    await this.#membership?.leave();
    this.#membership = undefined;
    await rollClosed;
    this.#roll = undefined;
    this.#isClosed = true;
    // A subscription that is under way waits for Redis, however long that is gone.
    this.#closing.abort(new Error('the connection was closed'));
    await this.#runEnds?.then(
      (runEnds) => runEnds.close(),
      () => {},
    );
    this.#runEnds = undefined;
    return result;
  }

  async #join(membership: Membership): Promise<void> {
    await membership.join();
    await this.#parts.epoch.open(() => membership.rejoin());
  }

  async #listen(): Promise<RunEnds> {
    const { settings, commands, logger } = this.#parts;
    const parts = { prefix: settings.prefix, processId: this.#processId, commands, logger };
    const { signal } = this.#closing;
    const runEnds = new RunEnds(await connectConsumer(settings, logger), parts);
    try {
      const started = runEnds.start({
        onInterrupted: (lease, reason) => this.#consumer?.interrupt(lease, reason),
        onRecorded: (serviceType, jobId) => this.#consumer?.readNewEntries(serviceType, jobId),
        onDropped: (event) => this.#consumer?.dropped(event),
        onReconnected: () => this.#consumer?.readAllNewEntries(),
      });
      await Promise.race([started, aborted(signal)]);
    } catch (error) {
      runEnds.close();
      throw error;
    }
    return runEnds;
  }
}

/** Rejects with the reason of a signal when it aborts. */
export function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

/** Task that runs once at a time. Calls during a run share one more run, which starts after it. */
class CoalescedTask {
  readonly #task: () => Promise<void>;
  #current: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(task: () => Promise<void>) {
    this.#task = task;
  }

  /** Resolves when a run has ended that started after the call. */
  run(): Promise<void> {
    if (this.#current === undefined) return this.#begin();
    this.#next ??= this.#current
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        return this.#begin();
      });
    return this.#next;
  }

  #begin(): Promise<void> {
    const run = this.#task().finally(() => {
      if (this.#current === run) this.#current = undefined;
    });
    this.#current = run;
    return run;
  }
}
