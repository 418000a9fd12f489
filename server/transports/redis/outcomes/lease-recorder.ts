import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { CommitResult, Outcome } from '../../transport.js';
import type { CommandClient } from '../connection/command-client.js';
import { isOutOfMemory, isTransient, isWriteRefused, repeatDelayMs, translateReply } from '../connection/rejections.js';
import { type Submission, TickBatch } from '../connection/tick-batch.js';
import type { RedisSettings } from '../redis-options.js';
import { argumentBatches } from '../scripts/argument-batches.js';
import { readArray } from '../scripts/reply.js';
import type { Script, ScriptArgument } from '../scripts/script.js';
import { splitCheckpoint } from './checkpoint-codec.js';
import { checkpointScript } from './checkpoint-script.js';
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
    this.#commits = new TickBatch<Commit, CommitResult>(argumentBatches, async (commits) => {
      const args = [settings.maxDeadLetters, commits.length, ...commits.flatMap((commit) => commit.args)];
      return readArray(await this.#run(commitScript, () => args)).map(readCommitResult);
    });
  }

  /** Sets the connection for consuming. */
  use(connection: Redis | undefined): void {
    this.#connection = connection;
  }

  /**
   * @param keepsSlot if the handler runs on and takes a slot of its type until `freeSlot`
   * @throws {InvalidOptionError} if a value of the outcome cannot be stored; nothing is sent
   */
  commit(lease: Lease, attempt: number, outcome: Outcome, keepsSlot: boolean): Submission<CommitResult> {
    const flags = [lease.keepsRuns ? '1' : '', keepsSlot ? '1' : ''];
    const args = outcomeArguments(outcome, attempt, this.#service);
    return this.#commits.add({ args: [...leaseArguments(lease), ...flags, ...args] });
  }

  /** Frees the slot that a commit kept. */
  async freeSlot(lease: Lease): Promise<void> {
    await this.#run(freeSlotScript, () => leaseArguments(lease));
  }

  /** @param lease returns the lease as it is at each attempt to write */
  async checkpoint(lease: () => Lease, key: string, value: string): Promise<CommitResult> {
    const stored = [key, ...splitCheckpoint(value)];
    return readCommitResult(await this.#run(checkpointScript, () => [...leaseArguments(lease()), ...stored]));
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
