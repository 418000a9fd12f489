import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { CommitResult, Delivery, Envelope, Outcome, RunWait } from '../../transport.js';
import type { CommandClient } from '../connection/command-client.js';
import { isOutOfMemory, isTransient, isWriteRefused, repeatDelayMs, translateReply } from '../connection/rejections.js';
import { SendTurn } from '../connection/send-turn.js';
import { TickBatch } from '../connection/tick-batch.js';
import { emitArguments } from '../publishing/envelope-codec.js';
import type { RedisSettings } from '../redis-options.js';
import { splitCheckpoint } from '../runs/checkpoint-codec.js';
import { checkpointScript } from '../runs/checkpoint-script.js';
import { newEntriesScript } from '../runs/read-entries-scripts.js';
import { waitArguments } from '../runs/wait-codec.js';
import { waitScript } from '../runs/wait-script.js';
import { argumentBatches } from '../scripts/argument-batches.js';
import { readArray, readNumber, readOptional } from '../scripts/reply.js';
import type { Script, ScriptArgument } from '../scripts/script.js';
import { readCommitResult } from './commit-result.js';
import { commitScript } from './commit-script.js';
import { type Lease, leaseArguments } from './lease.js';
import { outcomeArguments } from './outcome-codec.js';
import { freeSlotScript } from './overdue-slots.js';

/** Outcome of a lease, ready to be sent. */
interface Commit {
  readonly args: readonly ScriptArgument[];
}

/**
 * Records outcomes and checkpoints of leased jobs. While the process consumes, a write waits for a lost connection to
 * return, and is repeated if Redis has no memory left: the handler must not run again because a write was refused.
 * Afterwards writes are late, and change nothing.
 */
export class LeaseRecorder {
  readonly turn: SendTurn = new SendTurn();
  readonly #commits: TickBatch<Commit, CommitResult>;
  readonly #commands: CommandClient;
  readonly #service: string;
  readonly #settings: RedisSettings;
  #connection: Redis | undefined;

  /** @param commands used while there is no connection for consuming */
  constructor(commands: CommandClient, service: string, settings: RedisSettings) {
    this.#commands = commands;
    this.#service = service;
    this.#settings = settings;
    this.#commits = new TickBatch<Commit, CommitResult>(
      argumentBatches,
      async (commits) => {
        const args = [
          settings.maxDeadLetters,
          settings.maxDeadLetterAgeMs,
          commits.length,
          ...commits.flatMap((commit) => commit.args),
        ];
        return readArray(await this.#run(commitScript, () => args)).map(readCommitResult);
      },
      this.turn.addOutcomes,
    );
  }

  /** Sets the connection for consuming. */
  use(connection: Redis | undefined): void {
    this.#connection = connection;
    this.turn.use(connection);
  }

  /**
   * Sends the outcome at the end of the turn, before the fetches of {@link turn}.
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
    return this.#commits.add({ args: [...leaseArguments(lease), ...flags, ...args] });
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
