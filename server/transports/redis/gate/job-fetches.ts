import type { Redis } from 'ioredis';
import type { SendTurn } from '../connection/send-turn.js';
import { TickBatch } from '../connection/tick-batch.js';
import type { RedisSettings } from '../redis-options.js';
import { maxBatch } from '../scripts/limits.js';
import { readArray, readNumber, readOptional, readString } from '../scripts/reply.js';
import { fetchJobsScript } from './fetch-jobs-script.js';

/** Job as Redis has leased it. */
export interface FetchedJob {
  readonly id: string;
  readonly type: string;
  /** Data as it is stored, not parsed. */
  readonly data: string;
  readonly acceptedAt: number;
  /** Number of times that the job was started, this time included. */
  readonly starts: number;
  /** Number of attempts that ended. */
  readonly attemptsMade: number;
  /** Number of times that a process lost the job since its handler last reported. */
  readonly losses: number;
}

/** Reply for one token: a job, or the milliseconds until the next due time of the queue, if there is one. */
export interface Fetch {
  readonly job: FetchedJob | undefined;
  readonly dueInMs?: number | undefined;
}

/** Fetches of jobs from one worker queue. Those of one turn of the event loop share a round trip. */
export class JobFetches {
  readonly #tokens: TickBatch<string, Fetch>;

  /** @param turn in which outcomes are sent before fetches */
  constructor(name: string, connection: Redis, { prefix, lockDurationMs }: RedisSettings, turn: SendTurn) {
    const limits = { maxSize: maxBatch, maxWeight: Number.POSITIVE_INFINITY, weigh: () => 0 };
    this.#tokens = new TickBatch<string, Fetch>(
      limits,
      async (tokens) => {
        const reply = await fetchJobsScript.run(connection, prefix, [name, lockDurationMs, ...tokens]);
        const [jobs, dueInMs] = readArray(reply);
        const fetched = readArray(jobs).map((job) => ({ job: readJob(job) }));
        const none = { job: undefined, dueInMs: readOptional(dueInMs, readNumber) };
        return tokens.map((_, index) => fetched[index] ?? none);
      },
      turn.addFetches,
    );
  }

  /** @param token of the lease */
  fetch(token: string): Promise<Fetch> {
    return this.#tokens.add(token);
  }
}

function readJob(reply: unknown): FetchedJob {
  const [id, type, data, acceptedAt, starts, attemptsMade, losses] = readArray(reply);
  return {
    id: readString(id),
    type: readString(type),
    data: readString(data),
    acceptedAt: readNumber(acceptedAt),
    starts: readNumber(starts),
    attemptsMade: readNumber(attemptsMade),
    losses: readNumber(losses),
  };
}
