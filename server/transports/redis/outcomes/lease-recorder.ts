import type { Redis } from 'ioredis';
import type { CommitResult, Outcome } from '../../transport.js';
import type { CommandClient } from '../connection/command-client.js';
import { type Submission, TickBatch } from '../connection/tick-batch.js';
import type { RedisSettings } from '../redis-options.js';
import { maxBatch } from '../scripts/limits.js';
import { readArray } from '../scripts/reply.js';
import type { Script, ScriptArgument } from '../scripts/script.js';
import { checkpointScript } from './checkpoint-script.js';
import { readCommitResult } from './commit-result.js';
import { commitScript } from './commit-script.js';
import { type Lease, leaseArguments } from './lease.js';
import { outcomeArguments } from './outcome-codec.js';

/**
 * Records outcomes and checkpoints of leased jobs. While the process consumes, they wait for a lost connection to
 * return. Afterwards they are late, and change nothing.
 */
export class LeaseRecorder {
  readonly #commits: TickBatch<readonly ScriptArgument[], CommitResult>;
  readonly #commands: CommandClient;
  readonly #service: string;
  readonly #settings: RedisSettings;
  #connection: Redis | undefined;

  /** @param commands used while there is no connection for consuming */
  constructor(commands: CommandClient, service: string, settings: RedisSettings) {
    this.#commands = commands;
    this.#service = service;
    this.#settings = settings;
    this.#commits = new TickBatch(maxBatch, async (commits) => {
      const args = [settings.maxDeadLetters, commits.length, ...commits.flat()];
      return readArray(await this.#run(commitScript, args)).map(readCommitResult);
    });
  }

  /** Sets the connection for consuming. */
  use(connection: Redis | undefined): void {
    this.#connection = connection;
  }

  commit(lease: Lease, attempt: number, outcome: Outcome): Submission<CommitResult> {
    return this.#commits.add([
      ...leaseArguments(lease),
      lease.keepsRuns ? '1' : '',
      ...outcomeArguments(outcome, attempt, this.#service),
    ]);
  }

  async checkpoint(lease: Lease, key: string, value: string): Promise<CommitResult> {
    return readCommitResult(await this.#run(checkpointScript, [...leaseArguments(lease), key, value]));
  }

  #run(script: Script, args: readonly ScriptArgument[]): Promise<unknown> {
    if (this.#connection === undefined) return this.#commands.runScript(script, args);
    return script.run(this.#connection, this.#settings.prefix, args);
  }
}
