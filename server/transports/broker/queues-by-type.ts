import type { PeriodHistory } from '../statistics/period-history.js';
import type { PausedTypes } from '../transport.js';
import type { Dispatcher } from './dispatcher.js';
import type { Entry, StoredWait } from './entry.js';
import type { RunWaits } from './run-waits.js';
import { type QueueHost, TypeQueue } from './type-queue.js';

/** The part of the broker that the queues of a service use. */
export interface QueuesHost extends QueueHost {
  readonly waits: RunWaits;
  readonly statistics: {
    /** Returns the history of a type, which all services share. */
    history(type: string): PeriodHistory;
  };
}

/** Queues of one service by type. The dispatcher serves a queue to which an entry is added. */
export class QueuesByType {
  readonly index: PendingIndex;
  readonly #service: string;
  readonly #host: QueuesHost;
  readonly #dispatcher: Dispatcher;
  readonly #byType = new Map<string, TypeQueue>();
  #paused: PausedTypes = { revision: 0, types: [] };

  constructor(service: string, host: QueuesHost, dispatcher: Dispatcher) {
    this.#service = service;
    this.#host = host;
    this.#dispatcher = dispatcher;
    this.index = new PendingIndex(() => this.#pending());
  }

  /** Returns the queue of a type, which is created if it does not exist. */
  of(type: string): TypeQueue {
    let queue = this.#byType.get(type);
    if (queue === undefined) {
      queue = this.#create(type);
      this.#byType.set(type, queue);
    }
    return queue;
  }

  /** Pauses the queues of some types, and of no other. Returns `false` if a later call has decided already. */
  pause(paused: PausedTypes): boolean {
    if (paused.revision < this.#paused.revision) return false;
    this.#paused = paused;
    for (const queue of this.#byType.values()) queue.isPaused = isPausedType(paused, queue.type);
    return true;
  }

  /** Returns the queue of a type; `undefined` if the service never handled or published the type. */
  find(type: string): TypeQueue | undefined {
    return this.#byType.get(type);
  }

  /** Queues of all types that the service ever handled or published. */
  all(): Iterable<TypeQueue> {
    return this.#byType.values();
  }

  /** Returns the queue with a dead letter. */
  findByDeadLetter(id: string): TypeQueue | undefined {
    for (const queue of this.#byType.values()) if (queue.deadLetters.find(id) !== undefined) return queue;
    return undefined;
  }

  /** Returns a pending entry that is in memory or spilled. */
  findPending(id: string): Entry | undefined {
    const entry = this.index.find(id);
    if (entry !== undefined) return entry;
    for (const { reader } of this.#byType.values()) {
      const [spilled] = reader.findSpilled({ id });
      if (spilled !== undefined) return spilled;
    }
    return undefined;
  }

  push(queue: TypeQueue, entry: Entry): void {
    queue.push(entry);
    this.#dispatcher.serve(queue);
  }

  /** Adds an entry that waits for a delay in milliseconds. */
  pushDelayed(queue: TypeQueue, entry: Entry, delayMs: number): void {
    this.pushUntil(queue, entry, this.#host.clock.monotonic() + delayMs);
  }

  /** Adds an entry that waits until a monotonic time. */
  pushUntil(queue: TypeQueue, entry: Entry, dueAt: number): void {
    this.#host.journal.entry(queue, entry);
    queue.delayed.push(entry, dueAt);
    this.#dispatcher.serveAt(queue, dueAt);
  }

  #create(type: string): TypeQueue {
    const { waits, journal } = this.#host;
    const onDue = (wait: StoredWait): void => journal.settleLater(() => waits.resolveByTime(wait));
    const queue: TypeQueue = new TypeQueue(
      this.#service,
      type,
      this.#host,
      this.#host.statistics.history(type),
      onDue,
      {
        left: (entry) => this.index.remove(entry),
        entered: (entry) => this.index.add(entry),
        ready: () => this.#dispatcher.serveAt(queue, queue.nextWakeAt),
      },
    );
    queue.isPaused = isPausedType(this.#paused, type);
    return queue;
  }

  *#pending(): Iterable<Entry> {
    for (const queue of this.#byType.values()) yield* queue.pending();
    for (const { entry } of this.#dispatcher.running()) yield entry;
  }
}

function isPausedType({ types }: PausedTypes, type: string): boolean {
  return types === 'all' || types.includes(type);
}

/** Pending entries of a group in memory by id. */
class PendingIndex {
  // Built by the first lookup: an index of all pending events costs more than those that never cancel should pay.
  #byId: Map<string, Entry> | undefined;
  readonly #entries: () => Iterable<Entry>;

  /** @param entries returns all pending entries in memory */
  constructor(entries: () => Iterable<Entry>) {
    this.#entries = entries;
  }

  /** A lookup has built the index, so that the next one costs little. */
  get isBuilt(): boolean {
    return this.#byId !== undefined;
  }

  find(id: string): Entry | undefined {
    this.#byId ??= new Map(Array.from(this.#entries(), (entry) => [entry.envelope.id, entry]));
    return this.#byId.get(id);
  }

  add(entry: Entry): void {
    this.#byId?.set(entry.envelope.id, entry);
  }

  remove({ envelope: { id } }: Entry): void {
    this.#byId?.delete(id);
  }
}
