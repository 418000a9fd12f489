import { type BoundedLog, CheckedLog } from '../bounded-log.js';
import { type Clock, systemClock } from '../clock.js';
import type { Envelope } from '../delivery.js';
import { CheckedKeyValueStore, type KeyValueStore } from '../key-values.js';
import type {
  CloseResult,
  ConsumeOptions,
  CountReader,
  DeadLetterStore,
  EventLookup,
  FleetReader,
  Logger,
  PausedTypes,
  Receipt,
  RunStore,
  ScheduleStore,
  TransportManager,
} from '../transport.js';
import { CommandClient } from './connection/command-client.js';
import { DataEpoch } from './connection/data-epoch.js';
import { Consumption } from './consuming/consumption.js';
import { LeaseRecorder } from './consuming/lease-recorder.js';
import { RedisRuns } from './consuming/redis-runs.js';
import { redisDeadLetters } from './dead-letters/dead-letters.js';
import { PublishBatch } from './events/publish-batch.js';
import { redisEvents } from './events/stored-events.js';
import { Fleet } from './membership/fleet.js';
import { OverviewReads } from './overview.js';
import type { RedisSettings } from './redis-options.js';
import { RedisSchedules } from './schedules/redis-schedules.js';
import { redisCounts } from './statistics/activity.js';
import { RedisKeyValueStore } from './values/redis-key-value-store.js';
import { RedisLog } from './values/redis-log.js';

/**
 * Connection of a service to Redis. It has one client for commands that a caller waits for; {@link Consumption} has
 * others.
 */
export class RedisManager implements TransportManager {
  readonly name = 'redis';
  readonly service: string;
  readonly clock: Clock = systemClock;
  readonly counts: CountReader;
  readonly lookup: EventLookup;
  readonly deadLetters: DeadLetterStore;
  readonly runs: RunStore;
  readonly fleet: FleetReader;
  readonly schedules: ScheduleStore;
  readonly kv: KeyValueStore;
  readonly log: BoundedLog;
  readonly #commands: CommandClient;
  readonly #publishing: PublishBatch;
  readonly #consumption: Consumption;
  #onDrained: ConsumeOptions['onDrained'];

  constructor(service: string, settings: RedisSettings, logger: Logger) {
    const commands = new CommandClient(settings, logger);
    const epoch = new DataEpoch(commands, logger);
    const recorder = new LeaseRecorder(commands, service, settings);
    const consumption = new Consumption({ service, settings, logger, commands, epoch, recorder });
    const fleet = new Fleet(commands);
    const overviews = new OverviewReads(commands, fleet, settings);
    this.service = service;
    this.counts = redisCounts(commands);
    this.lookup = { ...redisEvents(commands), overview: (query) => overviews.read(query) };
    this.deadLetters = redisDeadLetters(commands, service);
    this.runs = new RedisRuns({ service, commands, settings, consumption });
    this.fleet = fleet;
    this.schedules = new RedisSchedules({
      service,
      commands,
      epoch,
      timeoutMs: settings.emitTimeoutMs,
      processId: () => consumption.memberId,
    });
    this.kv = new CheckedKeyValueStore(new RedisKeyValueStore(commands, settings.prefix));
    const watch = async (channel: string, onChange: () => void): Promise<() => void> =>
      (await consumption.listening())?.announcements.watch(channel, onChange) ?? (() => {});
    this.log = new CheckedLog(new RedisLog(commands, settings.prefix, watch));
    this.#commands = commands;
    this.#publishing = new PublishBatch(commands, service, epoch, settings.emitTimeoutMs);
    this.#consumption = consumption;
  }

  async start(options: ConsumeOptions): Promise<void> {
    this.#commands.open();
    this.#onDrained = options.onDrained;
    try {
      await this.#consumption.start(options);
    } catch (error) {
      await this.close({ drainMs: 0 });
      throw error;
    }
  }

  pause(paused: PausedTypes): Promise<void> {
    return this.#consumption.pause(paused);
  }

  publish(envelopes: readonly Envelope[]): Promise<readonly Receipt[]> {
    return this.#publishing.publish(envelopes);
  }

  async close({ drainMs }: { drainMs: number }): Promise<CloseResult> {
    const result = await this.#consumption.close(drainMs);
    await this.#onDrained?.();
    await this.#commands.close();
    return result;
  }
}
