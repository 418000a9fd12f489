import { type Clock, systemClock } from '../clock.js';
import {
  type DeadLetterFilter,
  type ErasedPayloads,
  type EventRecord,
  type RecentEvents,
  type RequestRecords,
  toRecentEvents,
  toRequestRecords,
} from '../event-record.js';
import { CheckedKeyValueStore, type KeyValueStore } from '../key-values.js';
import type { EventMetrics, FailureRecord, RangeCounts, TypeDurations } from '../statistics/stats.js';
import type {
  ClaimResult,
  CloseResult,
  CommitResult,
  ConnectedProcess,
  ConsumeOptions,
  DeadLetterRecord,
  Envelope,
  FailedOutcome,
  Logger,
  Outcome,
  Overview,
  OverviewQuery,
  Receipt,
  RunRecord,
  ScheduleClaim,
  ScheduleOpening,
  ScheduleRecord,
  TransportManager,
  TypeCounts,
} from '../transport.js';
import { CommandClient } from './connection/command-client.js';
import { DataEpoch } from './connection/data-epoch.js';
import { readString } from './connection/reply.js';
import { Consumption } from './consuming/consumption.js';
import { LeaseRecorder, readCommitResult } from './consuming/lease-recorder.js';
import { endRunScript } from './events/attempt-ends.js';
import { cancel } from './events/cancel.js';
import { readDeadLetters, replay } from './events/dead-letters.js';
import { PublishBatch } from './events/publish-batch.js';
import { RedisSchedules } from './events/redis-schedules.js';
import {
  eraseScript,
  findScript,
  readErased,
  readEvents,
  recentScript,
  requestArguments,
  requestScript,
} from './events/stored-events.js';
import { outcomeArguments } from './jobs/event-codec.js';
import { descriptionsScript, Fleet, processesScript, readProcesses } from './membership/fleet.js';
import { encodeName, jobIdOf, serviceTypeOf, typeList } from './names.js';
import { OverviewReads } from './overview.js';
import { RedisKeyValueStore } from './redis-key-value-store.js';
import type { RedisSettings } from './redis-options.js';
import { encodeReason } from './runs/run-ends.js';
import { readRun, readWaiting, runScript, runSinceScript, waitingScript } from './runs/stored-runs.js';
import {
  durationsScript,
  failuresScript,
  metricsScript,
  rangeScript,
  readDurations,
  readFailures,
  readMetrics,
  readRange,
} from './statistics/activity.js';
import { countsScript, readCounts, revisionScript } from './statistics/counts.js';

/**
 * Connection of a service to Redis. It has one client for commands that a caller waits for; {@link Consumption} has
 * others.
 */
export class RedisManager implements TransportManager {
  readonly name = 'redis';
  readonly service: string;
  readonly clock: Clock = systemClock;
  readonly kv: KeyValueStore;
  readonly #settings: RedisSettings;
  readonly #commands: CommandClient;
  readonly #epoch: DataEpoch;
  readonly #publishing: PublishBatch;
  readonly #schedules: RedisSchedules;
  readonly #fleet = new Fleet();
  readonly #overviews: OverviewReads;
  readonly #consumption: Consumption;

  constructor(service: string, settings: RedisSettings, logger: Logger) {
    this.service = service;
    this.#settings = settings;
    this.#commands = new CommandClient(settings, logger);
    this.#epoch = new DataEpoch(this.#commands, logger);
    this.#publishing = new PublishBatch(this.#commands, service, this.#epoch, settings.emitTimeoutMs);
    this.#schedules = new RedisSchedules({
      service,
      commands: this.#commands,
      epoch: this.#epoch,
      timeoutMs: settings.emitTimeoutMs,
      processId: () => this.#consumption.memberId,
    });
    const recorder = new LeaseRecorder(this.#commands, service, settings);
    this.#consumption = new Consumption({
      service,
      settings,
      logger,
      commands: this.#commands,
      epoch: this.#epoch,
      recorder,
    });
    this.#overviews = new OverviewReads(this.#commands, this.#fleet);
    this.kv = new CheckedKeyValueStore(new RedisKeyValueStore(this.#commands, settings.prefix));
  }

  async start(options: ConsumeOptions): Promise<void> {
    this.#commands.open();
    try {
      await this.#consumption.start(options);
    } catch (error) {
      await this.close({ drainMs: 0 });
      throw error;
    }
  }

  publish(envelopes: readonly Envelope[]): Promise<readonly Receipt[]> {
    return this.#publishing.publish(envelopes);
  }

  async counts(types: readonly string[]): Promise<readonly TypeCounts[]> {
    return readCounts(await this.#commands.runScript(countsScript, [typeList(types)]));
  }

  async metrics(type: string): Promise<EventMetrics> {
    return readMetrics(type, await this.#commands.runScript(metricsScript, [encodeName(type)]));
  }

  async durations(types: readonly string[]): Promise<readonly TypeDurations[]> {
    return readDurations(await this.#commands.runScript(durationsScript, [typeList(types)]));
  }

  async failures(type: string): Promise<readonly FailureRecord[]> {
    return readFailures(await this.#commands.runScript(failuresScript, [encodeName(type)]));
  }

  async recent(type: string): Promise<RecentEvents> {
    const events = readEvents(await this.#commands.runScript(recentScript, [encodeName(type)]));
    return toRecentEvents(events);
  }

  async find(id: string, { bodies = false }: { readonly bodies?: boolean } = {}): Promise<readonly EventRecord[]> {
    return readEvents(await this.#commands.runScript(findScript, [jobIdOf(id), bodies ? 'all' : 'shown']));
  }

  async request(requestId: string): Promise<RequestRecords> {
    return toRequestRecords(readEvents(await this.#commands.runScript(requestScript, requestArguments(requestId))));
  }

  async erase(requestId: string): Promise<ErasedPayloads> {
    return readErased(await this.#commands.runScript(eraseScript, requestArguments(requestId)));
  }

  async deadLetters(type: string, limit: number, filter: DeadLetterFilter = {}): Promise<readonly DeadLetterRecord[]> {
    return readDeadLetters(this.#commands, serviceTypeOf(this.service, type), limit, filter);
  }

  replay(id: string): Promise<boolean> {
    return replay(this.#commands, this.service, id);
  }

  async overview(query: OverviewQuery): Promise<Overview> {
    const overview = await this.#overviews.read(query);
    return { ...overview, retainsDeadLetters: this.#settings.maxDeadLetters > 0 };
  }

  async range(types: readonly string[], from: number, to: number): Promise<RangeCounts> {
    return readRange(from, to, await this.#commands.runScript(rangeScript, [typeList(types)]));
  }

  async waiting(types: readonly string[], limit: number): Promise<readonly (readonly RunRecord[])[]> {
    return readWaiting(await this.#commands.runScript(waitingScript, [limit, typeList(types)]), limit);
  }

  async run(type: string, id: string): Promise<RunRecord | undefined> {
    const reply = await this.#commands.runScript(runScript, [serviceTypeOf(this.service, type), jobIdOf(id)]);
    return reply === null ? undefined : readRun(reply);
  }

  async runSince(type: string, id: string, from: number): Promise<RunRecord | undefined> {
    const args = [serviceTypeOf(this.service, type), jobIdOf(id), from];
    const reply = await this.#commands.runScript(runSinceScript, args);
    return reply === null ? undefined : readRun(reply);
  }

  async watchRun(type: string, id: string, onChange: () => void): Promise<() => void> {
    const runEnds = await this.#consumption.listening();
    return runEnds?.changes.watch(serviceTypeOf(this.service, type), jobIdOf(id), onChange) ?? (() => {});
  }

  async runEnded(type: string, id: string, signal: AbortSignal): Promise<RunRecord | undefined> {
    const runEnds = await this.#consumption.listening();
    // The caller waits until it gives up, as those do that waited before the connection was closed.
    return runEnds?.ended(serviceTypeOf(this.service, type), jobIdOf(id), signal) ?? aborted(signal);
  }

  async endRun(type: string, id: string, outcome: Outcome, reason: Error): Promise<CommitResult> {
    const head = [serviceTypeOf(this.service, type), jobIdOf(id), encodeReason(reason)];
    const args = [...head, ...outcomeArguments(outcome, 1, this.service)];
    await this.#consumption.waitsSent();
    // Not repeated: a repetition would report that the run had ended already.
    return readCommitResult(
      await this.#commands.run((client) => endRunScript.run(client, this.#settings.prefix, args)),
    );
  }

  cancel(id: string, conclude: (envelope: Envelope) => FailedOutcome): Promise<boolean> {
    return cancel({ service: this.service, commands: this.#commands, settings: this.#settings }, id, conclude);
  }

  schedules(): Promise<readonly ScheduleRecord[]> {
    return this.#schedules.schedules();
  }

  openSchedules(openings: readonly ScheduleOpening[]): Promise<boolean> {
    return this.#schedules.openSchedules(openings);
  }

  claim(claim: ScheduleClaim): Promise<ClaimResult> {
    return this.#schedules.claim(claim);
  }

  async registered(): Promise<readonly string[]> {
    const { args, read } = this.#fleet.query();
    const { live, stopped } = read(await this.#commands.runScript(descriptionsScript, args));
    return [...live, ...stopped];
  }

  async processes(): Promise<readonly ConnectedProcess[]> {
    const query = this.#fleet.query();
    return readProcesses(query, await this.#commands.runScript(processesScript, query.args));
  }

  async revision(type?: string): Promise<string> {
    return readString(await this.#commands.runScript(revisionScript, type === undefined ? [] : [encodeName(type)]));
  }

  async close({ drainMs }: { drainMs: number }): Promise<CloseResult> {
    const result = await this.#consumption.close(drainMs);
    await this.#commands.close();
    return result;
  }
}

/** Rejects with the reason of a signal when it aborts. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
