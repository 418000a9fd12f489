import type { Redis } from 'ioredis';
import type { CommitResult, Outcome } from '../../transport.js';
import type { CommandClient } from '../connection/command-client.js';
import { readCommitResult } from './commit-result.js';
import { checkpointScript, commitScript } from './commit-script.js';
import type { ScriptArgument } from '../scripts/script.js';
import { outcomeArguments } from './outcome-codec.js';
import type { Commit, DeliveryHost, Lease } from '../consuming/redis-delivery.js';
import type { RedisSettings } from '../redis-options.js';
import { readArray } from '../scripts/reply.js';
import { TickBatch } from '../publishing/tick-batch.js';

const largestBatch = 250;

/**
 * Records what deliveries came to. While the process consumes, what is recorded waits for a lost
 * connection to come back; afterwards it is late, and changes nothing.
 */
export class Recorder implements DeliveryHost {
  readonly #commits: TickBatch<readonly ScriptArgument[], CommitResult>;
  readonly #late: CommandClient;
  readonly #service: string;
  readonly #settings: RedisSettings;
  #connection: Redis | undefined;

  constructor(late: CommandClient, service: string, settings: RedisSettings) {
    this.#late = late;
    this.#service = service;
    this.#settings = settings;
    this.#commits = new TickBatch(largestBatch, (commits) => this.#send(commits));
  }

  /** Records over this connection from now on. */
  use(connection: Redis | undefined): void {
    this.#connection = connection;
  }

  commit(lease: Lease, attempt: number, outcome: Outcome): Commit {
    const result = this.#commits.add([
      ...leaseArguments(lease),
      lease.keepsRuns ? '1' : '',
      ...outcomeArguments(outcome, attempt, this.#service),
    ]);
    return { sent: this.#commits.sent, result };
  }

  async checkpoint(lease: Lease, key: string, value: string): Promise<CommitResult> {
    const args = [...leaseArguments(lease), key, value];
    return readCommitResult(await this.#run((client) => checkpointScript.run(client, this.#settings.prefix, args)));
  }

  async #send(commits: readonly (readonly ScriptArgument[])[]): Promise<CommitResult[]> {
    const { prefix, maxDeadLetters } = this.#settings;
    const args = [maxDeadLetters, commits.length, ...commits.flat()];
    const answer = await this.#run((client) => commitScript.run(client, prefix, args));
    return readArray(answer).map(readCommitResult);
  }

  #run(command: (client: Redis) => Promise<unknown>): Promise<unknown> {
    return this.#connection === undefined ? this.#late.run(command, { isRepeatable: true }) : command(this.#connection);
  }
}

function leaseArguments({ lane, jobId, token, unit }: Lease): ScriptArgument[] {
  return [lane, jobId, token, unit];
}
