import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { CommitResult, Delivery, Envelope, Offer, Outcome, RunWait, Verdict } from '../../delivery.js';
import type { CommandClient } from '../connection/command-client.js';
import { readArray, readNumber, readOptional, readString, unexpected } from '../connection/reply.js';
import { type Script, type ScriptArgument, scripts } from '../connection/script.js';
import { argumentBatches, argumentPortions } from '../connection/script-limits.js';
import { emitArguments, outcomeArguments, splitCheckpoint } from '../jobs/event-codec.js';
import { isOutOfMemory, isTransient, isWriteRefused, repeatDelayMs, translateReply } from '../redis-errors.js';
import type { RedisSettings } from '../redis-options.js';
import type { LeaseName } from '../runs/run-ends.js';
import { readOffers, verdictArguments, waitArguments } from '../runs/stored-runs.js';

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
   * @param holdsSlot if the handler runs on and takes a slot of its type until `freeSlot`
   * @throws {InvalidOptionError} if a value of the outcome cannot be stored; nothing is sent
   */
  commit(
    lease: Lease,
    { envelope, attempt }: Pick<Delivery, 'envelope' | 'attempt'>,
    outcome: Outcome,
    holdsSlot: boolean,
  ): Promise<CommitResult> {
    const flags = [lease.retainsRuns ? '1' : '', holdsSlot ? '1' : ''];
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

  /** Frees the slot that a commit or the end of an event by another process kept. */
  async freeSlot(lease: LeaseName): Promise<void> {
    await this.#run(scripts.freeSlot, () => leaseArguments(lease));
  }

  /**
   * Resolves with the results, and with the entries that the delivery does not know.
   *
   * @param lease returns the lease as it is at each attempt to write
   * @param known number of entries that the delivery knows
   */
  async checkpoint(
    lease: () => Lease,
    known: number,
    checkpoints: readonly LeaseCheckpoint[],
  ): Promise<{ readonly results: readonly CommitResult[]; readonly entries: unknown }> {
    const args = [known, checkpoints.length, ...checkpoints.flatMap((checkpoint) => checkpoint.args)];
    const reply = await this.#run(scripts.checkpoint, () => [...leaseArguments(lease()), ...args]);
    if (reply === null) return { results: checkpoints.map(() => 'fenced'), entries: [] };
    const [results, entries] = readArray(reply);
    return { results: readArray(results).map(readCommitResult), entries };
  }

  /** Returns an entry with the events that it emitted as arguments of a script. @throws {InvalidOptionError} */
  checkpointOf(key: string, value: string, emits: readonly Envelope[]): LeaseCheckpoint {
    const events = emits.flatMap((envelope) => emitArguments(envelope, this.#service));
    return { args: [key, ...splitCheckpoint(value), emits.length, ...events] };
  }

  async wait(lease: () => Lease, waits: readonly RunWait[]): Promise<CommitResult> {
    for (const { count, args } of argumentPortions(waits.map((wait) => waitArguments(wait, this.#service)))) {
      const reply = await this.#run(scripts.wait, () => [...leaseArguments(lease()), count, ...args]);
      const result = readCommitResult(reply);
      if (result !== 'ok') return result;
    }
    return 'ok';
  }

  /** Records that the service admits the event. */
  async admit(lease: () => Lease): Promise<CommitResult> {
    return readCommitResult(await this.#run(scripts.admit, () => leaseArguments(lease())));
  }

  /** Records the verdict on an offer. Resolves with the offers that follow. */
  async decide(
    lease: () => Lease,
    offer: Offer,
    verdict: Verdict,
  ): Promise<{ readonly result: CommitResult; readonly offers: readonly Offer[] }> {
    const args = verdictArguments(offer, verdict);
    const reply = await this.#run(scripts.decideOffer, () => [...leaseArguments(lease()), ...args]);
    const [result, offers] = readArray(reply);
    return { result: readCommitResult(result), offers: readOffers(offers) };
  }

  /** Resolves with the entries that the delivery does not know, the time until the next wait resolves by time, and the offers. */
  async newEntries(
    lease: Lease,
    known: number,
    isTimed: boolean,
  ): Promise<{
    readonly entries: unknown;
    readonly dueInMs: number | undefined;
    readonly offers: readonly Offer[];
  }> {
    const args = [...leaseArguments(lease), known, isTimed ? '1' : ''];
    const [entries, dueInMs, offers] = readArray(await this.#run(scripts.newEntries, () => args));
    return { entries, dueInMs: readOptional(dueInMs, readNumber), offers: readOffers(offers) };
  }

  #advance({ outcomes, queue, tokens }: LeaseCall): Promise<unknown> {
    const { maxDeadLetters, maxDeadLetterAgeMs, lockDurationMs, prefix } = this.#settings;
    const head = [maxDeadLetters, maxDeadLetterAgeMs, outcomes.length];
    const args = [...head, ...outcomes.flatMap((outcome) => outcome.args), queue, lockDurationMs];
    const connection = this.#connection;
    if (tokens.length === 0 || connection === undefined) return this.#run(scripts.advanceJobs, () => args);
    // Not repeated here: a worker repeats a fetch while it needs a job.
    return scripts.advanceJobs.run(connection, prefix, [...args, ...tokens]);
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

/** Lease of a job to this process. */
export interface Lease extends LeaseName {
  readonly retainsRuns: boolean;
}

/** Returns a lease as arguments of a script. */
export function leaseArguments({ queue, jobId, token, starts, serviceType }: LeaseName): ScriptArgument[] {
  return [queue, jobId, token, starts, serviceType];
}

/** Returns the commit result that a script returned. @throws {UnexpectedDataError} */
export function readCommitResult(reply: unknown): CommitResult {
  if (reply === 'ok' || reply === 'already' || reply === 'fenced') return reply;
  throw unexpected('a commit result', reply);
}

/** Entry of a run as arguments of a script. */
export interface LeaseCheckpoint {
  readonly args: readonly ScriptArgument[];
}

/** Outcome with its lease as arguments of a script. */
export interface LeaseOutcome {
  readonly args: readonly ScriptArgument[];
}

/** Arguments of one call of `scripts.advanceJobs`. */
export interface LeaseCall {
  readonly outcomes: readonly LeaseOutcome[];
  /** Name of the queue from which to lease a job per token; `''` if there are no tokens. */
  readonly queue: string;
  readonly tokens: readonly string[];
}

interface Pending<TItem, TReply> {
  readonly item: TItem;
  resolve(reply: TReply): void;
  reject(error: unknown): void;
}

type PendingOutcome = Pending<LeaseOutcome, CommitResult>;
type PendingFetch = Pending<string, Fetch>;

/** Outcomes, and fetches from one queue, that share a call. */
interface Portion {
  readonly outcomes: readonly PendingOutcome[];
  readonly queue: string;
  readonly fetches: readonly PendingFetch[];
}

/**
 * Outcomes and fetches of a turn of the event loop. A call records outcomes, then leases the jobs that take their slots.
 *
 * Redis works on one call while this process runs the jobs of another one: what is collected while no call is under way
 * is sent in two halves. In one call, all jobs would wait for Redis together, then Redis for all of them.
 */
export class LeaseTurn {
  readonly #run: (call: LeaseCall) => Promise<unknown>;
  #outcomes: PendingOutcome[] = [];
  /** By the name of the queue. */
  #fetches = new Map<string, PendingFetch[]>();
  #isScheduled = false;
  #underWay = 0;

  /** @param run runs `scripts.advanceJobs` */
  constructor(run: (call: LeaseCall) => Promise<unknown>) {
    this.#run = run;
  }

  commit(outcome: LeaseOutcome): Promise<CommitResult> {
    this.#schedule();
    return new Promise((resolve, reject) => {
      this.#outcomes.push({ item: outcome, resolve, reject });
    });
  }

  /**
   * @param queue name of the queue
   * @param token of the lease
   */
  fetch(queue: string, token: string): Promise<Fetch> {
    this.#schedule();
    return new Promise((resolve, reject) => {
      const fetches = this.#fetches.get(queue) ?? [];
      this.#fetches.set(queue, fetches);
      fetches.push({ item: token, resolve, reject });
    });
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#send());
  }

  #send(): void {
    const outcomes = this.#outcomes;
    const fetches = this.#fetches;
    this.#outcomes = [];
    this.#fetches = new Map();
    this.#isScheduled = false;
    const count = Math.max(outcomes.length, ...[...fetches.values()].map(({ length }) => length));
    const size = this.#underWay === 0 ? Math.ceil(count / 2) : count;
    for (const portion of divideTurn(outcomes, fetches, Math.min(size, argumentBatches.maxSize))) {
      void this.#advance(portion);
    }
  }

  async #advance({ outcomes, queue, fetches }: Portion): Promise<void> {
    this.#underWay += 1;
    try {
      const tokens = fetches.map(({ item }) => item);
      const reply = await this.#run({ outcomes: outcomes.map(({ item }) => item), queue, tokens });
      settle(outcomes, () => readArray(readArray(reply)[0]).map(readCommitResult));
      settle(fetches, () => readFetches(readArray(reply)[1], fetches.length));
    } catch (error) {
      if (outcomes.length > 0 && fetches.length > 0) {
        // What stops the outcomes need not stop the fetches, and outcomes are repeated for longer.
        void this.#advance({ outcomes, queue: '', fetches: [] });
        void this.#advance({ outcomes: [], queue, fetches });
      } else {
        for (const { reject } of [...outcomes, ...fetches]) reject(error);
      }
    } finally {
      this.#underWay -= 1;
    }
  }
}

/** Divides a turn into portions of at most `size` outcomes and as many fetches. */
function* divideTurn(
  outcomes: readonly PendingOutcome[],
  fetches: ReadonlyMap<string, readonly PendingFetch[]>,
  size: number,
): Generator<Portion> {
  const queues = [...fetches].map(([queue, waiting]) => ({ queue, waiting }));
  let rest = outcomes;
  while (rest.length > 0 || queues.length > 0) {
    const part = firstPart(rest, size);
    rest = rest.slice(part.length);
    const [first = { queue: '', waiting: [] }] = queues;
    // No fetch overtakes the outcome that frees its slot.
    const count = rest.length > 0 ? part.length : size;
    yield { outcomes: part, queue: first.queue, fetches: first.waiting.slice(0, count) };
    first.waiting = first.waiting.slice(count);
    if (first.waiting.length === 0) queues.shift();
  }
}

/** Returns the first outcomes whose arguments are not too long together, at least one. */
function firstPart(outcomes: readonly PendingOutcome[], size: number): readonly PendingOutcome[] {
  let length = 0;
  const end = outcomes.slice(0, size).findIndex(({ item }, index) => {
    length += argumentBatches.weigh(item);
    return index > 0 && length > argumentBatches.maxWeight;
  });
  return outcomes.slice(0, end < 0 ? size : end);
}

function settle<T>(pending: readonly Pending<unknown, T>[], read: () => readonly T[]): void {
  if (pending.length === 0) return;
  try {
    for (const [index, reply] of read().entries()) pending[index]?.resolve(reply);
  } catch (error) {
    for (const { reject } of pending) reject(error);
  }
}

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
  /** The condition of the service let the event pass. */
  readonly isAdmitted: boolean;
}

/** Reply for one token: a job, or the milliseconds until the next due time of the queue, if there is one. */
interface Fetch {
  readonly job: FetchedJob | undefined;
  readonly dueInMs?: number | undefined;
}

/**
 * Returns the reply for each of `count` tokens.
 *
 * @throws {Error} of Redis, in place of a reply
 * @throws {UnexpectedDataError}
 */
function readFetches(reply: unknown, count: number): readonly Fetch[] {
  if (reply instanceof Error) throw reply;
  const [jobs, dueInMs] = readArray(reply);
  const fetched = readArray(jobs).map((job) => ({ job: readJob(job) }));
  const none = { job: undefined, dueInMs: readOptional(dueInMs, readNumber) };
  return Array.from({ length: count }, (_, index) => fetched[index] ?? none);
}

function readJob(reply: unknown): FetchedJob {
  const [id, type, data, acceptedAt, starts, attemptsMade, losses, isAdmitted] = readArray(reply);
  return {
    id: readString(id),
    type: readString(type),
    data: readString(data),
    acceptedAt: readNumber(acceptedAt),
    starts: readNumber(starts),
    attemptsMade: readNumber(attemptsMade),
    losses: readNumber(losses),
    isAdmitted: isAdmitted === 1,
  };
}
