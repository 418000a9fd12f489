import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { CommitResult, Delivery, Envelope, Outcome, RunWait } from '../../transport.js';
import type { CommandClient } from '../connection/command-client.js';
import { isOutOfMemory, isTransient, isWriteRefused, repeatDelayMs, translateReply } from '../connection/rejections.js';
import type { Fetch } from '../gate/fetched-job.js';
import { emitArguments } from '../publishing/envelope-codec.js';
import type { RedisSettings } from '../redis-options.js';
import { splitCheckpoint } from '../runs/checkpoint-codec.js';
import { checkpointScript } from '../runs/checkpoint-script.js';
import { newEntriesScript } from '../runs/read-entries-scripts.js';
import { waitArguments } from '../runs/wait-codec.js';
import { waitScript } from '../runs/wait-script.js';
import { readArray, readNumber, readOptional } from '../scripts/reply.js';
import type { Script, ScriptArgument } from '../scripts/script.js';
import { advanceJobsScript } from './advance-jobs-script.js';
import { readCommitResult } from './commit-result.js';
import { type Lease, leaseArguments } from './lease.js';
import { type LeaseCall, LeaseTurn } from './lease-turn.js';
import { outcomeArguments } from './outcome-codec.js';
import { freeSlotScript } from './overdue-slots.js';

/**
 * Records outcomes and checkpoints of leased jobs. While the process consumes, a write waits for a lost connection to
 * return, and is repeated if Redis has no memory left: the handler must not run again because a write was refused.
 * Afterwards writes are late, and change nothing.
 */
export class LeaseRecorder {
  readonly #turn: LeaseTurn = new LeaseTurn((call) => this.#advance(call));
  readonly #commands: CommandClient;
  readonly #service: string;
  readonly #settings: RedisSettings;
  #connection: Redis | undefined;

  /** @param commands used while there is no connection for consuming */
  constructor(commands: CommandClient, service: string, settings: RedisSettings) {
    this.#commands = commands;
    this.#service = service;
    this.#settings = settings;
  }

  /** Sets the connection for consuming. */
  use(connection: Redis | undefined): void {
    this.#connection = connection;
  }

  /**
   * Sends the outcome at the end of the turn, before fetches.
   *
   * @param keepsSlot if the handler runs on and takes a slot of its type until `freeSlot`
   * @throws {InvalidOptionError} if a value of the outcome cannot be stored; nothing is sent
   */
  commit(
    lease: Lease,
    { envelope, attempt }: Pick<Delivery, 'envelope' | 'attempt'>,
    outcome: Outcome,
    keepsSlot: boolean,
  ): Promise<CommitResult> {
    const flags = [lease.keepsRuns ? '1' : '', keepsSlot ? '1' : ''];
    const args = outcomeArguments(outcome, attempt, this.#service, envelope);
    return this.#turn.commit({ args: [...leaseArguments(lease), ...flags, ...args] });
  }

  /**
   * Leases a job of a worker queue, at the end of the turn.
   *
   * @param token of the lease
   */
  fetch(queue: string, token: string): Promise<Fetch> {
    return this.#turn.fetch(queue, token);
  }

  /** Frees the slot that a commit kept. */
  async freeSlot(lease: Lease): Promise<void> {
    await this.#run(freeSlotScript, () => leaseArguments(lease));
  }

  /**
   * Resolves with the result, and with the entries that the delivery does not know.
   *
   * @param lease returns the lease as it is at each attempt to write
   * @param known number of entries that the delivery knows
   */
  async checkpoint(
    lease: () => Lease,
    known: number,
    { key, value, emits }: { readonly key: string; readonly value: string; readonly emits: readonly Envelope[] },
  ): Promise<{ readonly result: CommitResult; readonly entries: unknown }> {
    const events = emits.flatMap((envelope) => emitArguments(envelope, this.#service));
    const args = [known, key, ...splitCheckpoint(value), emits.length, ...events];
    const reply = await this.#run(checkpointScript, () => [...leaseArguments(lease()), ...args]);
    const [result, entries] = readArray(reply);
    return { result: readCommitResult(result), entries: entries ?? [] };
  }

  async wait(lease: () => Lease, waits: readonly RunWait[]): Promise<CommitResult> {
    const args = [waits.length, ...waits.flatMap((wait) => waitArguments(wait, this.#service))];
    return readCommitResult(await this.#run(waitScript, () => [...leaseArguments(lease()), ...args]));
  }

  /** Resolves with the entries that the delivery does not know, and the time until the next wait resolves by time. */
  async newEntries(
    lease: Lease,
    known: number,
    isTimed: boolean,
  ): Promise<{ readonly entries: unknown; readonly dueInMs: number | undefined }> {
    const args = [...leaseArguments(lease), known, isTimed ? '1' : ''];
    const [entries, dueInMs] = readArray(await this.#run(newEntriesScript, () => args));
    return { entries, dueInMs: readOptional(dueInMs, readNumber) };
  }

  #advance({ outcomes, queue, tokens }: LeaseCall): Promise<unknown> {
    const { maxDeadLetters, maxDeadLetterAgeMs, lockDurationMs, prefix } = this.#settings;
    const head = [maxDeadLetters, maxDeadLetterAgeMs, outcomes.length];
    const args = [...head, ...outcomes.flatMap((outcome) => outcome.args), queue, lockDurationMs];
    const connection = this.#connection;
    if (tokens.length === 0 || connection === undefined) return this.#run(advanceJobsScript, () => args);
    // Not repeated here: BullMQ repeats a fetch while it needs a job.
    return advanceJobsScript.run(connection, prefix, [...args, ...tokens]);
  }

  async #run(script: Script, args: () => readonly ScriptArgument[]): Promise<unknown> {
    for (let attempt = 1; ; attempt += 1) {
      const connection = this.#connection;
      if (connection === undefined) return this.#commands.runScript(script, args());
      try {
        return await script.run(connection, this.#settings.prefix, args());
      } catch (error) {
        if (!isTransient(error) && !isOutOfMemory(error) && !isWriteRefused(error)) throw translateReply(error);
        await delay(repeatDelayMs(attempt));
      }
    }
  }
}
