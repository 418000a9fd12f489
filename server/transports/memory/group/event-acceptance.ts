import type { AttemptRecord } from '../../attempt-record.js';
import type { Envelope } from '../../transport.js';
import type { RememberedId } from '../records/dedupe-window.js';
import type { Entry } from '../records/entry.js';
import type { RecentEntries } from '../records/recent-entries.js';
import type { QueueHost, TypeQueue } from '../type-queue/type-queue.js';
import type { Dispatcher } from './dispatcher.js';
import type { GroupQueues } from './group-queues.js';

const noAttempts: readonly AttemptRecord[] = [];

/** The part of the broker that accepts events. */
export interface AcceptanceHost extends Pick<QueueHost, 'clock' | 'journal'> {
  readonly recent: RecentEntries;
  /** Counts a pending payload that was replaced by a larger or smaller one. */
  recordResize(addedBytes: number): void;
}

/** Accepts events and replayed dead letters for one service. */
export class EventAcceptance {
  readonly #host: AcceptanceHost;
  readonly #queues: GroupQueues;
  readonly #dispatcher: Dispatcher;

  constructor(host: AcceptanceHost, queues: GroupQueues, dispatcher: Dispatcher) {
    this.#host = host;
    this.#queues = queues;
    this.#dispatcher = dispatcher;
  }

  /** Accepts an event, or debounces it. Returns the id of the event that waits in the debounce window. */
  accept(envelope: Envelope, bytes: number, now: number, remembered?: RememberedId): string | undefined {
    const queue = this.#queues.of(envelope.type);
    const { clock, journal } = this.#host;
    const debounced = queue.delayed.debounce(envelope, clock);
    if (debounced !== undefined) {
      this.#host.recordResize(bytes - debounced.entry.bytes);
      debounced.entry.bytes = bytes;
      journal.entry(queue, debounced.entry);
      this.#dispatcher.serveAt(queue, debounced.dueAt);
      return debounced.entry.envelope.id;
    }
    const entry = this.#admit(queue, { envelope, bytes, remembered, checkpoints: undefined }, now);
    const windowEnd = queue.delayed.openWindow(entry, clock);
    if (windowEnd !== undefined) this.#queues.pushUntil(queue, entry, windowEnd);
    else if (envelope.delayMs > 0) this.#queues.pushDelayed(queue, entry, envelope.delayMs);
    else this.#queues.push(queue, entry);
    return undefined;
  }

  /** Returns `true` if {@link accept} would debounce the event, so that it needs no room. */
  debounces(envelope: Envelope): boolean {
    return this.#queues.find(envelope.type)?.delayed.hasWindow(envelope) === true;
  }

  /** Accepts the event of a dead letter again, without the delay that it had when it was new. */
  replay(id: string, now: number): void {
    const queue = this.#queues.findByDeadLetter(id);
    const dead = queue?.deadLetters.take(id);
    if (queue === undefined || dead === undefined) return;
    const { bytes, checkpoints, envelope } = dead;
    queue.log.forget(id);
    this.#host.journal.log(queue);
    const replayed = { ...envelope, body: envelope.body, replays: envelope.replays + 1 };
    const entry = this.#admit(queue, { envelope: replayed, bytes, remembered: undefined, checkpoints }, now);
    this.#queues.push(queue, entry);
  }

  #admit(
    queue: TypeQueue,
    { envelope, bytes, remembered, checkpoints }: Pick<Entry, 'envelope' | 'bytes' | 'remembered' | 'checkpoints'>,
    now: number,
  ): Entry {
    // Written out: a spread made every accepted event measurably slower.
    const entry: Entry = {
      envelope,
      bytes,
      remembered,
      checkpoints: checkpoints ?? (queue.runs === undefined ? undefined : new Map()),
      attempt: 1,
      ended: false,
      acceptedAt: now,
      hasStarted: false,
      startedAt: 0,
      attempts: noAttempts,
      dueAt: undefined,
      older: undefined,
      newer: undefined,
      recentIndex: 0,
      lease: undefined,
      keyHolder: undefined,
      waits: undefined,
      isSuspended: false,
      record: undefined,
    };
    this.#host.recent.add(entry);
    this.#queues.index.add(entry);
    queue.admit(entry);
    queue.runs?.accept(entry);
    this.#host.journal.entry(queue, entry);
    queue.stats.countReceived(now);
    return entry;
  }
}
