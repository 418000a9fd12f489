import type { StoredQueue } from '../../memory/records/stored-queue.js';
import type { FailureRecord } from '../../statistics/stats.js';
import type { Subscription } from '../../transport.js';
import type { Database, Statement } from '../database/driver.js';

/** Parts of a queue that change rarely, as they were written. */
interface Written {
  readonly subscription: Subscription | undefined;
  readonly failure: FailureRecord | undefined;
}

/** Counters of a queue that outlive the process. */
export const storedCounters = [
  'received',
  'completed',
  'failed',
  'cancelled',
  'retried',
  'deduplicated',
  'lastReceivedAt',
  'lastFailedAt',
] as const;

/** Writes counters, failures and settings of queues to the file. */
export class QueueRows {
  readonly #insert: Statement;
  readonly #count: Statement;
  readonly #log: Statement;
  readonly #ids = new Map<StoredQueue, number>();
  readonly #written = new Map<StoredQueue, Written>();
  #lastId = 0;

  constructor(database: Database) {
    this.#insert = database.prepare('INSERT OR REPLACE INTO queues VALUES (?, ?, ?, ?, ?, ?)');
    this.#log = database.prepare('INSERT OR REPLACE INTO recent_events VALUES (?, ?)');
    this.#count = database.prepare('UPDATE queues SET counters = ? WHERE id = ?');
  }

  /** Registers a queue that the file has. */
  restore(queue: StoredQueue, id: number): void {
    this.#ids.set(queue, id);
    this.#lastId = Math.max(this.#lastId, id);
  }

  idOf(queue: StoredQueue): number {
    let id = this.#ids.get(queue);
    if (id === undefined) {
      this.#lastId += 1;
      id = this.#lastId;
      this.#ids.set(queue, id);
    }
    return id;
  }

  write(queue: StoredQueue): void {
    const { service, type, stats, subscription, runs } = queue;
    const id = this.idOf(queue);
    const counters = JSON.stringify(Object.fromEntries(storedCounters.map((name) => [name, stats[name]])));
    const written = this.#written.get(queue);
    if (written !== undefined && written.subscription === subscription && written.failure === stats.failures[0]) {
      this.#count.run(counters, id);
      return;
    }
    // A type that ceases to keep runs retains those that it has.
    const kept = runs && subscription?.keepsRuns !== true && { keepsRuns: true, retain: runs.retention };
    const settings = subscription === undefined ? null : JSON.stringify({ ...subscription, ...kept });
    this.#insert.run(id, service, type, counters, JSON.stringify(stats.failures), settings);
  }

  /** Writes the recently ended events of a queue. */
  writeLog(queue: StoredQueue): void {
    this.#log.run(this.idOf(queue), JSON.stringify(queue.log.retained));
  }

  markWritten(queue: StoredQueue): void {
    const { subscription, stats } = queue;
    this.#written.set(queue, { subscription, failure: stats.failures[0] });
  }
}
