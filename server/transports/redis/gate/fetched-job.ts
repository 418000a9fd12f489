import { readArray, readNumber, readOptional, readString } from '../scripts/reply.js';

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

/**
 * Returns the reply for each of `count` tokens.
 *
 * @throws {Error} of Redis, in place of a reply
 * @throws {UnexpectedDataError}
 */
export function readFetches(reply: unknown, count: number): readonly Fetch[] {
  if (reply instanceof Error) throw reply;
  const [jobs, dueInMs] = readArray(reply);
  const fetched = readArray(jobs).map((job) => ({ job: readJob(job) }));
  const none = { job: undefined, dueInMs: readOptional(dueInMs, readNumber) };
  return Array.from({ length: count }, (_, index) => fetched[index] ?? none);
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
