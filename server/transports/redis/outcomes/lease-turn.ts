import type { CommitResult } from '../../transport.js';
import { type Fetch, readFetches } from '../gate/fetched-job.js';
import { argumentBatches } from '../scripts/argument-batches.js';
import { readArray } from '../scripts/reply.js';
import type { ScriptArgument } from '../scripts/script.js';
import { readCommitResult } from './commit-result.js';

/** Outcome with its lease as arguments of a script. */
export interface LeaseOutcome {
  readonly args: readonly ScriptArgument[];
}

/** Arguments of one call of `advanceJobsScript`. */
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

  /** @param run runs `advanceJobsScript` */
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
    for (const portion of portionsOf(outcomes, fetches, Math.min(size, argumentBatches.maxSize))) {
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
function* portionsOf(
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
