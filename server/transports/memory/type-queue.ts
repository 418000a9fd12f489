import type { Envelope, Subscription } from '../transport.js';
import { DeadLetters } from './dead-letters.js';
import { DelayQueue } from './delay-queue.js';
import type { MemoryDelivery } from './delivery.js';
import { RateWindow } from './rate-window.js';
import { RunLog } from './run-log.js';
import { TypeStats } from './type-stats.js';
import { WaitingList } from './waiting-list.js';

/** An accepted event until its outcome is recorded. */
export interface Entry {
  readonly queue: TypeQueue;
  readonly envelope: Envelope;
  /** The attempt that is next or running, from 1. */
  attempt: number;
  ended: boolean;
  /** The attempt that holds the lease. */
  delivery: MemoryDelivery | undefined;
  readonly checkpoints: Map<string, string> | undefined;
}

/** What one service has of one event type: waiting entries, limits, counts, dead letters. */
export class TypeQueue {
  readonly type: string;
  readonly stats: TypeStats = new TypeStats();
  readonly deadLetters: DeadLetters;
  /** Where the service keeps runs of the type. */
  runs: RunLog | undefined;
  readonly #waiting = new WaitingList<Entry>();
  readonly #delayed = new DelayQueue<Entry>();
  #concurrency = Number.POSITIVE_INFINITY;
  #rate: RateWindow | undefined;
  /** Runs in a lane of its own, beside the connections' shared concurrency. */
  hasOwnLane = false;
  /** Whether the queue stands in the service's list of queues to serve. */
  listed = false;
  /** When the service looks at the queue again by itself, at the latest. */
  wakeAt: number = Number.POSITIVE_INFINITY;

  constructor(type: string, maxDeadLetters: number) {
    this.type = type;
    this.deadLetters = new DeadLetters(maxDeadLetters);
  }

  subscribe({ concurrency, rate, keepsRuns }: Subscription): void {
    if (keepsRuns === true) this.runs ??= new RunLog();
    this.hasOwnLane = concurrency !== undefined || rate !== undefined;
    this.#concurrency = concurrency ?? Number.POSITIVE_INFINITY;
    if (!this.#rate?.limits(rate)) this.#rate = rate === undefined ? undefined : new RateWindow(rate);
  }

  get hasWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  get hasFreePlace(): boolean {
    return this.stats.active < this.#concurrency;
  }

  /** When the rate allows the next start; in the past where it does now. */
  get openAt(): number {
    return this.#rate === undefined ? Number.NEGATIVE_INFINITY : this.#rate.openAt;
  }

  /** When the first delayed entry falls due; `undefined` where none waits for its time. */
  get nextDueAt(): number | undefined {
    return this.#delayed.nextDueAt;
  }

  push(entry: Entry): void {
    this.#waiting.push(entry, entry.envelope.priority);
  }

  pushLater(entry: Entry, dueAt: number): void {
    this.#delayed.push(entry, dueAt);
  }

  /** Lets delayed entries that are due wait their turn. */
  takeDue(now: number): void {
    for (let entry = this.#delayed.shift(now); entry !== undefined; entry = this.#delayed.shift(now)) this.push(entry);
  }

  /** Puts back an entry that was started and revoked: it is the next of its priority. */
  unshift(entry: Entry): void {
    this.#waiting.unshift(entry, entry.envelope.priority);
  }

  /** Takes out an entry that is not running. */
  remove(entry: Entry): void {
    this.#waiting.remove(entry, entry.envelope.priority);
    this.#delayed.remove(entry);
  }

  start(now: number): Entry | undefined {
    const entry = this.#waiting.shift();
    if (entry !== undefined) this.#rate?.countStart(now);
    return entry;
  }
}
