import type { Subscription } from '../transport.js';
import type { DeadLetters } from './dead-letters.js';
import type { Entry } from './entry.js';
import { DelayQueue } from './queues/delay-queue.js';
import { RateWindow } from './queues/rate-window.js';
import { WaitingList } from './queues/waiting-list.js';
import type { RevisionCounter } from './revision-counter.js';
import { RunLog } from './run-log.js';
import { TypeStats } from './type-stats.js';

/** One event type in one service: waiting and delayed entries, limits, statistics, dead letters and runs. */
export class TypeQueue {
  readonly type: string;
  readonly stats: TypeStats;
  readonly deadLetters: DeadLetters;
  /** `undefined` if no subscription of the type keeps runs. */
  runs: RunLog | undefined;
  readonly #waiting = new WaitingList<Entry>();
  readonly #delayed = new DelayQueue<Entry>();
  #concurrency = Number.POSITIVE_INFINITY;
  #rate: RateWindow | undefined;
  /** The type has its own concurrency or rate, so its deliveries take no slot of the shared concurrency. */
  hasOwnLimits = false;
  /** The dispatcher has the queue in its list of queues to serve. */
  listed = false;
  /** Time of the dispatcher's next timer for the queue. */
  wakeAt: number = Number.POSITIVE_INFINITY;

  constructor(type: string, deadLetters: DeadLetters, transportRevision: RevisionCounter) {
    this.type = type;
    this.stats = new TypeStats(transportRevision);
    this.deadLetters = deadLetters;
  }

  subscribe({ concurrency, rate, keepsRuns }: Subscription): void {
    if (keepsRuns === true) this.runs ??= new RunLog();
    this.hasOwnLimits = concurrency !== undefined || rate !== undefined;
    this.#concurrency = concurrency ?? Number.POSITIVE_INFINITY;
    // An unchanged rate continues its window: a restart must not allow a second burst.
    if (!this.#rate?.enforces(rate)) this.#rate = rate === undefined ? undefined : new RateWindow(rate);
  }

  get hasWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  get hasFreeSlot(): boolean {
    return this.stats.active < this.#concurrency;
  }

  /** Time from which the rate allows the next start; may be in the past. */
  get openAt(): number {
    return this.#rate === undefined ? Number.NEGATIVE_INFINITY : this.#rate.openAt;
  }

  /** Due time of the first delayed entry; `undefined` if no entry is delayed. */
  get nextDueAt(): number | undefined {
    return this.#delayed.nextDueAt;
  }

  push(entry: Entry): void {
    this.#waiting.push(entry, entry.envelope.priority);
  }

  pushDelayed(entry: Entry, dueAt: number): void {
    this.#delayed.push(entry, dueAt);
  }

  /** Moves the delayed entries that are due to the waiting ones. */
  promoteDue(now: number): void {
    for (let entry = this.#delayed.shift(now); entry !== undefined; entry = this.#delayed.shift(now)) this.push(entry);
  }

  /** Requeues a released entry as the first of its priority. */
  unshift(entry: Entry): void {
    this.#waiting.unshift(entry, entry.envelope.priority);
  }

  /** Removes an entry that is not running. */
  remove(entry: Entry): void {
    this.#waiting.remove(entry, entry.envelope.priority);
    this.#delayed.remove(entry);
  }

  /** Takes the next waiting entry and counts its start. */
  start(now: number): Entry | undefined {
    const entry = this.#waiting.shift();
    if (entry === undefined) return undefined;
    this.#rate?.countStart(now);
    this.stats.countStart();
    return entry;
  }
}
