import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { CheckedKeyValueStore } from '../checked-key-value-store.js';
import { type Clock, systemClock } from '../clock.js';
import { NotSubscribedError } from '../errors.js';
import type { KeyValueStore } from '../key-value-store.js';
import type { Logger } from '../logger.js';
import type { EventMetrics, FailureRecord } from '../stats.js';
import type {
  CloseResult,
  CommitResult,
  ConsumeOptions,
  DeadLetterRecord,
  Envelope,
  Outcome,
  Overview,
  OverviewQuery,
  Receipt,
  RunRecord,
  TransportManager,
  TypeCounts,
} from '../transport.js';
import { workflowOf } from '../workflow-type.js';
import { CommandClient } from './command-client.js';
import { readCommitResult } from './commit-result.js';
import { Consumer } from './consumer.js';
import { connectConsumer } from './consumer-connection.js';
import { readDeadLetters } from './dead-letter-reader.js';
import { endRunScript } from './lua/commit.js';
import { deadLettersScript, replayScript } from './lua/dead-letters.js';
import { membersScript } from './lua/membership.js';
import { countsScript, failuresScript, metricsScript, overviewScript, revisionScript, runScript } from './lua/read.js';
import type { Script, ScriptArgument } from './lua/script.js';
import { Members } from './members.js';
import { Membership } from './membership.js';
import { jobIdOf, typeList, typeOf, unitOf } from './names.js';
import { outcomeArguments } from './outcome-codec.js';
import { Publisher } from './publisher.js';
import { Recorder } from './recorder.js';
import { RedisKeyValueStore } from './redis-key-value-store.js';
import type { RedisSettings } from './redis-options.js';
import { readArray, readNumber, readString } from './reply.js';
import { readRun, readRuns } from './run-reader.js';
import { encodeReason, RunWatch } from './run-watch.js';
import { warnOfEviction } from './server-checks.js';
import { readCounts, readFailures, readMetrics } from './stats-reader.js';

/** A service's connection to Redis: one client for what is waited for, one for consuming, one that listens. */
export class RedisManager implements TransportManager {
  readonly name = 'redis';
  readonly service: string;
  readonly clock: Clock = systemClock;
  readonly kv: KeyValueStore;
  readonly #settings: RedisSettings;
  readonly #logger: Logger;
  readonly #commands: CommandClient;
  readonly #publisher: Publisher;
  readonly #recorder: Recorder;
  readonly #members = new Members();
  #membership: Membership | undefined;
  #consumer: Consumer | undefined;
  #watch: Promise<RunWatch> | undefined;

  constructor(service: string, settings: RedisSettings, logger: Logger) {
    this.service = service;
    this.#settings = settings;
    this.#logger = logger;
    this.#commands = new CommandClient(settings, logger);
    this.#publisher = new Publisher(this.#commands, service, settings);
    this.#recorder = new Recorder(this.#commands, service, settings);
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
    const { subscriptions, describe = () => '{}' } = options;
    const { service } = this;
    const parts = { service, settings: this.#settings, logger: this.#logger, commands: this.#commands };
    await this.#commands.run((client) => warnOfEviction(client, this.#logger), { isRepeatable: true });
    const membership = new Membership({ ...parts, prefix: this.#settings.prefix }, subscriptions, describe);
    this.#membership = membership;
    const heldLanes = await membership.join();
    if (subscriptions.length === 0) return;
    const connection = await connectConsumer(this.#settings, this.#logger);
    this.#recorder.use(connection);
    this.#consumer = new Consumer({ ...parts, connection, host: this.#recorder }, options);
    await this.#consumer.start(heldLanes);
    if (subscriptions.some(({ keepsRuns }) => keepsRuns === true)) await this.#watching();
  }

  publish(envelopes: readonly Envelope[]): Promise<readonly Receipt[]> {
    return this.#publisher.publish(envelopes);
  }

  async counts(types: readonly string[]): Promise<readonly TypeCounts[]> {
    return readCounts(await this.#ask(countsScript, [typeList(types)]));
  }

  async metrics(type: string): Promise<EventMetrics> {
    return readMetrics(type, await this.#ask(metricsScript, [encodeURIComponent(type)]));
  }

  async failures(type: string): Promise<readonly FailureRecord[]> {
    return readFailures(await this.#ask(failuresScript, [encodeURIComponent(type)]));
  }

  async deadLetters(type: string, limit: number): Promise<readonly DeadLetterRecord[]> {
    return readDeadLetters(type, await this.#ask(deadLettersScript, [unitOf(this.service, type), limit]));
  }

  async replay(id: string): Promise<boolean> {
    // Where the answer is lost with the connection, the token tells a second try that the first was heard.
    const args = [randomUUID(), 2 * this.#settings.emitTimeoutMs, encodeURIComponent(this.service), jobIdOf(id)];
    const answer = await this.#ask(replayScript, args);
    if (typeof answer === 'string') {
      const type = typeOf(answer);
      throw new NotSubscribedError(this.service, [workflowOf(type) ?? type], []);
    }
    return readNumber(answer) === 1;
  }

  async overview({ types, runTypes, runLimit }: OverviewQuery): Promise<Overview> {
    const members = this.#members.ask();
    const args = [...members.args, typeList(types), runLimit, typeList(runTypes)];
    const [registered, counts, runs] = readArray(await this.#ask(overviewScript, args));
    return { registered: members.read(registered), counts: readCounts(counts), runs: readRuns(runs, runLimit) };
  }

  async run(type: string, id: string): Promise<RunRecord | undefined> {
    const answer = await this.#ask(runScript, [unitOf(this.service, type), jobIdOf(id)]);
    return answer === null ? undefined : readRun(answer);
  }

  async runEnded(type: string, id: string, signal: AbortSignal): Promise<RunRecord | undefined> {
    const watch = await this.#watching();
    for (;;) {
      signal.throwIfAborted();
      // Begun before the look, so that an end between the two is not missed.
      const { end, cancel } = watch.next(unitOf(this.service, type), jobIdOf(id), signal);
      end.catch(() => {});
      const run = await this.run(type, id);
      if (run === undefined || run.endedAt !== undefined) {
        cancel();
        return run;
      }
      await end;
    }
  }

  async endRun(type: string, id: string, outcome: Outcome, reason: Error): Promise<CommitResult> {
    const head = [unitOf(this.service, type), jobIdOf(id), encodeReason(reason)];
    const args = [...head, ...outcomeArguments(outcome, 1, this.service)];
    return readCommitResult(
      await this.#commands.run((client) => endRunScript.run(client, this.#settings.prefix, args)),
    );
  }

  async registered(): Promise<readonly string[]> {
    const { args, read } = this.#members.ask();
    return read(await this.#ask(membersScript, args));
  }

  async revision(type?: string): Promise<string> {
    return readString(await this.#ask(revisionScript, type === undefined ? [] : [encodeURIComponent(type)]));
  }

  async close({ drainMs }: { drainMs: number }): Promise<CloseResult> {
    const consumer = this.#consumer;
    this.#consumer = undefined;
    const released = (await consumer?.close(drainMs)) ?? 0;
    this.#recorder.use(undefined);
    await this.#membership?.leave();
    this.#membership = undefined;
    (await this.#watch)?.close();
    this.#watch = undefined;
    await this.#commands.close();
    return { released };
  }

  #ask(script: Script, args: readonly ScriptArgument[]): Promise<unknown> {
    const run = (client: Redis): Promise<unknown> => script.run(client, this.#settings.prefix, args);
    return this.#commands.run(run, { isRepeatable: true });
  }

  #watching(): Promise<RunWatch> {
    this.#watch ??= this.#startWatch();
    return this.#watch;
  }

  async #startWatch(): Promise<RunWatch> {
    const watch = new RunWatch(await connectConsumer(this.#settings, this.#logger));
    await watch.start(this.#settings.prefix, (unit, jobId, reason) =>
      this.#consumer?.find(unit, jobId)?.revoke(reason),
    );
    return watch;
  }
}
