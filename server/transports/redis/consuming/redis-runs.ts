import type { CommitResult, Envelope, FailedOutcome, Outcome } from '../../delivery.js';
import type { RunRecord } from '../../event-record.js';
import type { RunStore } from '../../transport.js';
import type { CommandClient } from '../connection/command-client.js';
import { redisKey } from '../connection/keys.js';
import { scripts } from '../connection/script.js';
import { cancel } from '../events/cancel.js';
import { outcomeArguments } from '../jobs/event-codec.js';
import { jobIdOf, serviceTypeOf, typeList } from '../names.js';
import type { RedisSettings } from '../redis-options.js';
import { encodeReason } from '../runs/run-ends.js';
import { readRun, readWaiting } from '../runs/stored-runs.js';
import { aborted, type Consumption } from './consumption.js';
import { readCommitResult } from './lease-recorder.js';

/** Parts of a connection that its runs use. */
export interface RedisRunsParts {
  readonly service: string;
  readonly commands: CommandClient;
  readonly settings: RedisSettings;
  readonly consumption: Consumption;
}

/** Runs of a service on Redis. */
export class RedisRuns implements RunStore {
  readonly #parts: RedisRunsParts;

  constructor(parts: RedisRunsParts) {
    this.#parts = parts;
  }

  async get(type: string, id: string, service?: string): Promise<RunRecord | undefined> {
    const reply = await this.#parts.commands.runScript(scripts.run, this.#place(type, id, service));
    return reply === null ? undefined : readRun(reply);
  }

  async getSince(type: string, id: string, from: number, service?: string): Promise<RunRecord | undefined> {
    const reply = await this.#parts.commands.runScript(scripts.runSince, [...this.#place(type, id, service), from]);
    return reply === null ? undefined : readRun(reply);
  }

  async waiting(types: readonly string[], limit: number): Promise<readonly (readonly RunRecord[])[]> {
    return readWaiting(await this.#parts.commands.runScript(scripts.waitingRuns, [limit, typeList(types)]), limit);
  }

  async watch(type: string, id: string, onChange: () => void, service?: string): Promise<() => void> {
    const runEnds = await this.#parts.consumption.listening();
    const channel = redisKey(this.#parts.settings.prefix, 'run-changes', ...this.#place(type, id, service));
    return runEnds?.announcements.watch(channel, onChange) ?? (() => {});
  }

  async ended(type: string, id: string, signal: AbortSignal, service?: string): Promise<RunRecord | undefined> {
    const runEnds = await this.#parts.consumption.listening();
    // The caller waits until it gives up, as those do that waited before the connection was closed.
    return runEnds?.ended(...this.#place(type, id, service), signal) ?? aborted(signal);
  }

  async end(
    type: string,
    id: string,
    outcome: Outcome,
    reason: Error,
    service: string = this.#parts.service,
  ): Promise<CommitResult> {
    const { commands, settings, consumption } = this.#parts;
    const args = [...this.#place(type, id, service), encodeReason(reason), ...outcomeArguments(outcome, 1, service)];
    await consumption.waitsSent();
    // Not repeated: a repetition would report that the run had ended already.
    return readCommitResult(await commands.run((client) => scripts.endRun.run(client, settings.prefix, args)));
  }

  cancel(id: string, conclude: (envelope: Envelope) => FailedOutcome, service?: string): Promise<boolean> {
    return cancel({ ...this.#parts, ...(service !== undefined && { service }) }, id, conclude);
  }

  #place(type: string, id: string, service = this.#parts.service): [serviceType: string, jobId: string] {
    return [serviceTypeOf(service, type), jobIdOf(id)];
  }
}
