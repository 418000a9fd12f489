import { randomUUID } from 'node:crypto';
import { CheckedKeyValueStore } from '../checked-key-value-store.js';
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
import type { KeyValueStore } from '../key-value-store.js';
import type { Logger } from '../logger.js';
import type { ClaimResult, ScheduleClaim, ScheduleOpening, ScheduleRecord } from '../schedules.js';
import type { EventMetrics, FailureRecord, RangeCounts, TypeDurations } from '../statistics/stats.js';
import type {
  CloseResult,
  CommitResult,
  ConsumeOptions,
  DeadLetterRecord,
  Envelope,
  FailedOutcome,
  Outcome,
  Overview,
  OverviewQuery,
  Receipt,
  RunRecord,
  TransportManager,
  TypeCounts,
} from '../transport.js';
import { CoalescedTask } from './coalesced-task.js';
import { CommandClient } from './connection/command-client.js';
import { connectConsumer } from './connection/consumer-connection.js';
import { checkServer } from './connection/server-checks.js';
import { JobConsumer } from './consuming/job-consumer.js';
import { deadLettersScript, readDeadLetters } from './dead-letters/read-dead-letters.js';
import { replay } from './dead-letters/replay.js';
import { RedisKeyValueStore } from './key-values/redis-key-value-store.js';
import { readErased, readEvents, requestArguments } from './lookup/read-events.js';
import { eraseScript, findScript, recentScript, requestScript } from './lookup/stored-events.js';
import { DataEpoch } from './membership/data-epoch.js';
import { descriptionsScript, Fleet } from './membership/fleet.js';
import { Membership } from './membership/membership.js';
import { SettlementListener } from './membership/settlement-listener.js';
import { encodeName, jobIdOf, serviceTypeOf, typeList } from './names.js';
import { cancel } from './outcomes/cancel.js';
import { readCommitResult } from './outcomes/commit-result.js';
import { endRunScript } from './outcomes/end-run-script.js';
import { LeaseRecorder } from './outcomes/lease-recorder.js';
import { outcomeArguments } from './outcomes/outcome-codec.js';
import { encodeReason, RunEnds } from './outcomes/run-ends.js';
import { PublishBatch } from './publishing/publish-batch.js';
import { rangeScript, readRange } from './reading/activity.js';
import { countsScript, readCounts } from './reading/counts.js';
import { durationsScript, readDurations } from './reading/durations.js';
import { failuresScript, readFailures } from './reading/failures.js';
import { metricsScript, readMetrics } from './reading/metrics.js';
import { readOverview } from './reading/overview.js';
import { revisionScript } from './reading/revision-script.js';
import { readRun, runScript, runSinceScript } from './reading/runs.js';
import { readWaiting, waitingScript } from './reading/waiting-runs.js';
import { withoutArguments } from './redis-errors.js';
import type { RedisSettings } from './redis-options.js';
import { RedisSchedules } from './schedules/redis-schedules.js';
import { readString } from './scripts/reply.js';

/**
 * Connection of a service to Redis. It has up to three clients: one for commands that a caller waits for, one for
 * consuming, one that listens for ends of runs.
 */
export class RedisManager implements TransportManager {
  readonly name = 'redis';
  readonly service: string;
  readonly clock: Clock = systemClock;
  readonly kv: KeyValueStore;
  readonly #settings: RedisSettings;
  readonly #logger: Logger;
  readonly #commands: CommandClient;
  readonly #epoch: DataEpoch;
  readonly #publishing: PublishBatch;
  readonly #schedules: RedisSchedules;
  readonly #recorder: LeaseRecorder;
  readonly #fleet = new Fleet();
  #membership: Membership | undefined;
  #consumer: JobConsumer | undefined;
  #settlements: SettlementListener | undefined;
  /** Names this process in Redis: as a member, in the tokens of its leases, and in the channel of its runs. */
  readonly #processId = randomUUID();
  #runEnds: Promise<RunEnds> | undefined;

  constructor(service: string, settings: RedisSettings, logger: Logger) {
    this.service = service;
    this.#settings = settings;
    this.#logger = logger;
    this.#commands = new CommandClient(settings, logger);
    this.#epoch = new DataEpoch(this.#commands, logger);
    this.#publishing = new PublishBatch(this.#commands, service, this.#epoch, settings.emitTimeoutMs);
    this.#schedules = new RedisSchedules({
      service,
      commands: this.#commands,
      epoch: this.#epoch,
      timeoutMs: settings.emitTimeoutMs,
      processId: () => this.#membership?.id ?? '',
    });
    this.#recorder = new LeaseRecorder(this.#commands, service, settings);
    this.kv = new CheckedKeyValueStore(new RedisKeyValueStore(this.#commands, settings.prefix));
  }

  async start(options: ConsumeOptions): Promise<void> {
    this.#commands.open();
    try {
      await this.#start(options);
    } catch (error) {
      await this.close({ drainMs: 0 });
      throw error;
    }
  }

  async #start(options: ConsumeOptions): Promise<void> {
    const { subscriptions } = options;
    const { service } = this;
    const parts = {
      service,
      processId: this.#processId,
      settings: this.#settings,
      logger: this.#logger,
      commands: this.#commands,
    };
    await this.#commands.run((client) => checkServer(client, this.#logger), { isRepeatable: true });
    const membership = new Membership(parts, options);
    this.#membership = membership;
    membership.onRegisteredAgain(() => void this.#runEnds?.then((runEnds) => runEnds.readAgain()).catch(() => {}));
    if (subscriptions.length === 0) return this.#join(membership);
    const connection = await connectConsumer(this.#settings, this.#logger);
    this.#recorder.use(connection);
    const consumer = new JobConsumer({ ...parts, connection, recorder: this.#recorder }, options);
    this.#consumer = consumer;
    this.#settlements = new SettlementListener(await connectConsumer(this.#settings, this.#logger), this.#logger);
    const serve = new CoalescedTask(async () => consumer.serve(await membership.servedQueues()));
    const serveLater = (): void => {
      serve.run().catch((error: unknown) => {
        this.#logger.warn(
          { err: withoutArguments(error) },
          'could not serve the queues of the service; the next heartbeat repeats it',
        );
      });
    };
    // Listens before it joins, so that it does not miss a settlement in between.
    await this.#settlements.start(this.#settings.prefix, service, serveLater);
    membership.onHeartbeat(serveLater);
    await this.#join(membership);
    await serve.run();
    if (subscriptions.some(({ keepsRuns }) => keepsRuns === true)) await this.#listening();
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
    const { requestId, since = 0 } = filter;
    const request = requestId === undefined ? ['', ''] : requestArguments(requestId);
    const args = [serviceTypeOf(this.service, type), limit, since, ...request];
    return readDeadLetters(type, await this.#commands.runScript(deadLettersScript, args));
  }

  replay(id: string): Promise<boolean> {
    return replay(this.#commands, this.service, id);
  }

  async overview(query: OverviewQuery): Promise<Overview> {
    const overview = await readOverview(this.#commands, this.#fleet, query);
    return { ...overview, keepsDeadLetters: this.#settings.maxDeadLetters > 0 };
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
    const runEnds = await this.#listening();
    return runEnds.changes.watch(serviceTypeOf(this.service, type), jobIdOf(id), onChange);
  }

  async runEnded(type: string, id: string, signal: AbortSignal): Promise<RunRecord | undefined> {
    const runEnds = await this.#listening();
    return runEnds.ended(serviceTypeOf(this.service, type), jobIdOf(id), signal);
  }

  async endRun(type: string, id: string, outcome: Outcome, reason: Error): Promise<CommitResult> {
    const head = [serviceTypeOf(this.service, type), jobIdOf(id), encodeReason(reason)];
    const args = [...head, ...outcomeArguments(outcome, 1, this.service)];
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
    return read(await this.#commands.runScript(descriptionsScript, args));
  }

  async revision(type?: string): Promise<string> {
    return readString(await this.#commands.runScript(revisionScript, type === undefined ? [] : [encodeName(type)]));
  }

  async close({ drainMs }: { drainMs: number }): Promise<CloseResult> {
    this.#settlements?.close();
    this.#settlements = undefined;
    const consumer = this.#consumer;
    this.#consumer = undefined;
    const result = (await consumer?.close(drainMs)) ?? { released: 0, overdue: 0 };
    this.#recorder.use(undefined);
    await this.#epoch.close();
    await this.#membership?.leave();
    this.#membership = undefined;
    await this.#runEnds?.then(
      (runEnds) => runEnds.close(),
      () => {},
    );
    this.#runEnds = undefined;
    await this.#commands.close();
    return result;
  }

  #listening(): Promise<RunEnds> {
    this.#runEnds ??= this.#listen().catch((error: unknown) => {
      this.#runEnds = undefined;
      throw error;
    });
    return this.#runEnds;
  }

  async #join(membership: Membership): Promise<void> {
    await membership.join();
    await this.#epoch.open(() => membership.rejoin());
  }

  async #listen(): Promise<RunEnds> {
    const parts = {
      prefix: this.#settings.prefix,
      processId: this.#processId,
      commands: this.#commands,
      logger: this.#logger,
    };
    const runEnds = new RunEnds(await connectConsumer(this.#settings, this.#logger), parts);
    try {
      await runEnds.start({
        onEnd: (serviceType, jobId, reason) => this.#consumer?.find(serviceType, jobId)?.revoke(reason),
        onRecorded: (serviceType, jobId) => this.#consumer?.readNewEntries(serviceType, jobId),
        onReconnected: () => this.#consumer?.readAllNewEntries(),
      });
    } catch (error) {
      runEnds.close();
      throw error;
    }
    return runEnds;
  }
}
