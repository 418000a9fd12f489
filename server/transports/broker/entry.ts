import type { ErrorInfo } from '../../errors.js';
import { type Envelope, sizeOf } from '../delivery.js';
import { type AttemptRecord, keepAttempt, type OpenWait } from '../event-record.js';
import type { DroppedEvent } from '../transport.js';
import type { RememberedId } from './dedupe-window.js';
import type { Inbox, StoredCondition } from './inbox.js';
import type { DelayedItem } from './queues.js';

/** An accepted event until its outcome is recorded. */
export interface Entry {
  /** Replaced while the event waits in its debounce window. */
  envelope: Envelope;
  /** The next or the running attempt, from 1. */
  attempt: number;
  /** The condition of the service let the event pass. */
  isAdmitted: boolean;
  ended: boolean;
  /** Epoch milliseconds. */
  readonly acceptedAt: number;
  /** An attempt has started. */
  hasStarted: boolean;
  /** Start of the running or last attempt in epoch milliseconds. */
  startedAt: number;
  /** Attempts that failed and were retried, and those that were interrupted; of runs only the latter. */
  attempts: readonly AttemptRecord[];
  /** Monotonic time at which the delay ends; `undefined` if the entry is not delayed. */
  dueAt: number | undefined;
  /** Neighbours in the order of acceptance among the pending entries of the type. */
  older: Entry | undefined;
  newer: Entry | undefined;
  /** Index among the recent entries, which they may have given to another entry. */
  recentIndex: number;
  /** The lease of the running attempt. */
  lease: Lease | undefined;
  /** List in which the entry takes a slot of its key: from its first start until it ends. */
  keyHolder: object | undefined;
  /** Size of the payload. */
  bytes: number;
  /** Deduplication id that stands for the event, besides its window, until the event has ended. */
  readonly remembered: RememberedId | undefined;
  /** Recorded entries of a run; `undefined` for events that are not runs. */
  checkpoints: Map<string, string> | undefined;
  /** Open waits of a run, by key if there is more than one. `RunWaits` reads and changes it. */
  waits: StoredWait | Map<string, StoredWait> | undefined;
  /** Events that a run keeps until its waits take them. */
  inbox: Inbox<StoredWait> | undefined;
  /** The run left its process and waits. */
  isSuspended: boolean;
  /** Version of the workflow without which no connection receives the run. */
  neededVersion: number | undefined;
  /** Record of a journal that stores the entry. */
  record: EntryRecord | undefined;
}

/** State of an entry in the storage of a journal. */
export interface EntryRecord {
  /** Position in the order of acceptance. */
  readonly position: number;
  /** Table that has the entry; `undefined` if none has it. */
  table: 'events' | 'spilled_events' | undefined;
  /** The storage alone has the entry, or will when it is stored. */
  isSpilled: boolean;
  /** Place of a spilled entry among those that wait, or among those that are due at the same time. */
  turn: number;
  /** The storage has the payload and the entries of a run that were erased. */
  isErased: boolean;
  deadLetter: LostEvent | undefined;
  run: EndedRun | undefined;
  /** Position in the order of ends. */
  endOrder: number;
}

/** Failure that made an event a dead letter. */
export interface LostEvent {
  readonly at: number;
  readonly error: ErrorInfo;
  readonly step: string | undefined;
}

/** End of a run. */
export interface EndedRun {
  readonly at: number;
  /** Removed if the run is erased. */
  result: string | undefined;
  readonly error: ErrorInfo | undefined;
  /** Those that were open. Removed if the run is erased. */
  waits: readonly OpenWait[];
}

/** Right of one attempt to record the outcome of its entry. */
export interface Lease {
  /** Frees the slot that the attempt takes. */
  release(): void;
  /** Lets the consumer read the offers of its run. */
  offered(): void;
  /** Passes an entry that was recorded for its run to the consumer. */
  recorded(key: string, value: string): void;
  /** Ends the lease: a later commit changes nothing. Resolves when the function of the attempt has returned. */
  revoke(reason: Error): Promise<void>;
  /** Takes the slot of the consumer again, for a handler that outlives its attempt. */
  addOverdue(): void;
  removeOverdue(): void;
}

/** Open wait of a run. */
export interface StoredWait {
  readonly wait: StoredCondition;
  readonly owner: WaitOwner;
  readonly entry: Entry;
  /** Epoch milliseconds. */
  readonly since: number;
  timer: DelayedItem<StoredWait> | undefined;
}

/** Consumer group whose runs wait. */
export interface WaitOwner {
  /** Called after a resolution is recorded for a run. */
  recorded(entry: Entry, key: string, value: string): void;
  /** Called after events were offered to a run. */
  offered(entry: Entry): void;
  /** Reports that a run dropped an event. Returns `false` if no consumer handles its type. */
  dropped(event: DroppedEvent): boolean;
  cancelTimer(stored: StoredWait): void;
  /** Returns the open approvals of the type of a run. */
  approvals(stored: StoredWait): Set<StoredWait> | undefined;
}

/** Pending entries of a type in the order of acceptance: a linked list, because an entry may end before older ones. */
export class AcceptanceOrder {
  #oldest: Entry | undefined;
  #newest: Entry | undefined;

  get oldest(): Entry | undefined {
    return this.#oldest;
  }

  /** Entries from the newest to the oldest. */
  *newestFirst(): Iterable<Entry> {
    for (let entry = this.#newest; entry !== undefined; entry = entry.older) yield entry;
  }

  add(entry: Entry): void {
    entry.older = this.#newest;
    if (this.#newest === undefined) this.#oldest = entry;
    else this.#newest.newer = entry;
    this.#newest = entry;
  }

  /** Removes an entry that was added. */
  remove(entry: Entry): void {
    const { older, newer } = entry;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    entry.older = undefined;
    entry.newer = undefined;
  }
}

/** Maximum number of entries: more than a burst of emits in a turn of the event loop. */
const maxEntries = 2_048;
/** Maximum length of the JSON of their payloads together, in bytes. */
const maxBytes = 2 * 1_048_576;

/**
 * Pending entries that were accepted last, whose payloads may be values. An event that ends soon needs no JSON, and a
 * backlog takes no more memory than its JSON.
 */
export class RecentEntries {
  /** Entries at the positions from the oldest one to the newest one. Those that have ended leave gaps. */
  readonly #entries: (Entry | undefined)[] = Array(maxEntries).fill(undefined);
  /** Sizes of their payloads when they were added: an envelope may change. */
  readonly #sizes: number[] = Array(maxEntries).fill(0);
  #oldest = 0;
  #positions = 0;
  #bytes = 0;

  /** Adds an entry, and packs the payloads of the oldest ones if there are too many. */
  add(entry: Entry): void {
    if (this.#positions === maxEntries) this.#evictOldest();
    const index = (this.#oldest + this.#positions) % maxEntries;
    this.#positions += 1;
    this.#entries[index] = entry;
    entry.recentIndex = index;
    const size = sizeOf(entry.envelope);
    this.#sizes[index] = size;
    this.#bytes += size;
    while (this.#bytes > maxBytes) this.#evictOldest();
  }

  /** Removes an entry that has ended. */
  remove(entry: Entry): void {
    const { recentIndex } = entry;
    if (this.#entries[recentIndex] === entry) this.#clear(recentIndex);
  }

  #evictOldest(): void {
    const oldest = this.#entries[this.#oldest];
    if (oldest !== undefined) {
      oldest.envelope.pack?.();
      this.#clear(this.#oldest);
    }
    this.#oldest = (this.#oldest + 1) % maxEntries;
    this.#positions -= 1;
  }

  #clear(index: number): void {
    this.#entries[index] = undefined;
    this.#bytes -= this.#sizes[index] ?? 0;
  }
}

/** Returns an attempt that failed. */
export function failedAttempt(
  { attempt, startedAt }: Entry,
  { error }: { readonly error: ErrorInfo },
  now: number,
): AttemptRecord {
  return { attempt, startedAt, endedAt: now, error };
}

/** Adds the attempt that an entry runs as interrupted. */
export function noteInterruption(entry: Entry, now: number): void {
  const { attempt, attempts, startedAt } = entry;
  entry.attempts = keepAttempt(attempts, { attempt, startedAt, endedAt: now, isInterrupted: true });
}

/** Condition on events: an id, or a request. */
export type EventFilter = { readonly id: string } | { readonly requestId: string };

export function matchesFilter(filter: EventFilter, event: Pick<Envelope, 'id' | 'requestId'>): boolean {
  return 'id' in filter ? event.id === filter.id : event.requestId === filter.requestId;
}
