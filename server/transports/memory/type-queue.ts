import type { Envelope, Subscription } from '../transport.js';
import { RateWindow } from './rate-window.js';
import { TypeStats } from './type-stats.js';
import { WaitingList } from './waiting-list.js';

/** An accepted event until its outcome is recorded. */
export interface Entry {
  readonly queue: TypeQueue;
  readonly envelope: Envelope;
  /** The attempt that is next or running, from 1. */
  attempt: number;
  ended: boolean;
}

/** What one service has of one event type: waiting entries, limits, counts. */
export class TypeQueue {
  readonly type: string;
  readonly stats: TypeStats = new TypeStats();
  readonly #waiting = new WaitingList<Entry>();
  #concurrency = Number.POSITIVE_INFINITY;
  #rate: RateWindow | undefined;
  /** Runs in a lane of its own, beside the connections' shared concurrency. */
  hasOwnLane = false;
  /** Whether the queue stands in the service's list of queues to serve. */
  listed = false;

  constructor(type: string) {
    this.type = type;
  }

  subscribe({ concurrency, rate }: Subscription): void {
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

  push(entry: Entry): void {
    this.#waiting.push(entry, entry.envelope.priority);
  }

  /** Puts back an entry that was started and revoked: it is the next of its priority. */
  unshift(entry: Entry): void {
    this.#waiting.unshift(entry, entry.envelope.priority);
  }

  start(now: number): Entry | undefined {
    const entry = this.#waiting.shift();
    if (entry !== undefined) this.#rate?.countStart(now);
    return entry;
  }
}
