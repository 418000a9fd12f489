import type { Envelope, Outcome, RunRetention, Subscription } from '../delivery.js';
import type { StartLog } from '../start-log.js';
import type { OpenPeriod } from '../statistics/packed-periods.js';
import type { PeriodHistory } from '../statistics/period-history.js';
import type { ScheduleRecord, StoredSchedule } from '../transport.js';
import type { RememberedId } from './dedupe-window.js';
import type { EndedRun, Entry, EventFilter, LostEvent, StoredWait } from './entry.js';
import type { EventLog, TypeStats } from './type-stats.js';

/**
 * Storage of a broker's state. The broker changes its state in memory and reports each changed part; the journal stores
 * the state of the reported parts, all of them in one step, and settles {@link change} then. A journal that stores
 * nothing applies changes at once, and returns no promise.
 */
export interface Journal {
  /** No part of the state is ahead of the storage. If not, no event starts until {@link afterStored}. */
  readonly isStored: boolean;
  /** Storage of pending entries that have no room in memory; `undefined` if all of them are in memory. */
  readonly spill: SpillStore | undefined;
  /** Guard of entries that outlive a crash of the process; `undefined` if none does. */
  readonly crashes: CrashGuard | undefined;
  /**
   * Applies a change that a caller asks for and can repeat. Resolves when it is stored.
   *
   * @param envelopes events that the change holds until it is applied
   */
  change<T>(apply: () => T, envelopes?: readonly Envelope[]): T | Promise<T>;
  /** Applies a change that nobody can repeat, such as an outcome. It waits for as long as the storage fails. */
  settle<T>(apply: () => T): T | Promise<T>;
  /** Applies a change that no caller waits for. It is lost if the process ends while the storage fails. */
  settleLater(apply: () => void): void;
  /** Calls `fn` when the changes that are applied now are stored. */
  afterStored(fn: () => void): void;
  /** Reports an entry that was accepted, changed or ended. */
  entry(queue: StoredQueue, entry: Entry): void;
  /** Reports that an attempt starts. Its lease is that of its entry. */
  started(): void;
  /** Stores starts that a rate counts, before it calls `stored`: they count after a crash too. */
  starts(queue: StoredQueue, counted: readonly CountedStarts[], stored: () => void): void;
  /** Reports that the starts of a key no longer count; of all keys of the type if `key` is `undefined`. */
  forgetStarts(queue: StoredQueue, key: string | undefined): void;
  /** Reports a recorded entry of a run. */
  checkpoint(entry: Entry, key: string, value: string): void;
  /** Reports a wait that was opened or closed. */
  wait(stored: StoredWait, isOpen: boolean): void;
  /** Reports a dead letter, or that it was removed. */
  deadLetter(queue: StoredQueue, entry: Entry, letter: LostEvent | undefined): void;
  /** Reports an ended run that is retained, or that it was evicted. */
  run(queue: StoredQueue, entry: Entry, ended: EndedRun | undefined): void;
  /** Deletes a log, if it exists: that of a run that is evicted or erased. */
  dropLog(name: string): void;
  /** Reports an ended event that is shown among the recent ones. */
  log(queue: StoredQueue): void;
  /** Reports counters or settings of a type. */
  queue(queue: StoredQueue): void;
  /** Reports new counts of a minute in the history of a type; `undefined` for the one of all types. */
  minute(type: string | undefined, minute: OpenPeriod, history: PeriodHistory): void;
  /** Reports a deduplication id that was added or removed. */
  dedupe(type: string, dedupeId: string, remembered: RememberedId | undefined): void;
  /** Reports that a service receives the events of a type, or no longer does. */
  route(type: string, service: string, isOpen: boolean): void;
  schedule(record: Omit<ScheduleRecord, 'isOpen' | 'revision'>): void;
  /** Reports a schedule that was set at run time. */
  storedSchedule(schedule: StoredSchedule): void;
  /** Reports the claim of a due time, which leaves the body of the schedule as it is. */
  claimedSchedule(schedule: StoredSchedule): void;
  removedSchedule(id: string): void;
}

function ignore(): void {}

/** Journal of a broker whose state ends with the process. */
export const noJournal: Journal = {
  isStored: true,
  spill: undefined,
  crashes: undefined,
  change: (apply) => apply(),
  settle: (apply) => apply(),
  settleLater: (apply) => apply(),
  afterStored: (fn) => fn(),
  entry: ignore,
  started: ignore,
  starts: (_queue, _counted, stored) => stored(),
  forgetStarts: ignore,
  checkpoint: ignore,
  wait: ignore,
  deadLetter: ignore,
  run: ignore,
  dropLog: ignore,
  log: ignore,
  queue: ignore,
  minute: ignore,
  dedupe: ignore,
  route: ignore,
  schedule: ignore,
  storedSchedule: ignore,
  claimedSchedule: ignore,
  removedSchedule: ignore,
};

/** Starts that a rate counts: those of a key, or of the type if `key` is `undefined`. */
export interface CountedStarts {
  readonly key: string | undefined;
  readonly starts: StartLog;
}

/** The part of a queue that a journal stores. */
export interface StoredQueue {
  readonly service: string;
  readonly type: string;
  readonly subscription: Subscription | undefined;
  readonly stats: TypeStats;
  /** `undefined` if no subscription of the type kept runs. */
  readonly runs: { readonly retention: RunRetention } | undefined;
  readonly log: EventLog;
  isDebounced(entry: Entry): boolean;
  /** Called when an entry was stored as a spilled one, or is no longer one. */
  stored(entry: Entry): void;
}

/** Spilled waiting entries that run one after the other. */
export interface ChainId {
  readonly priority: number;
  /** Key of the entries; `undefined` for those of all keys, or for those without one if keys take turns. */
  readonly key: string | undefined;
  /** Keys of the type take turns, so that each has chains of its own. */
  readonly isKeyed: boolean;
}

/** Stored entries of one chain. */
export interface ChainSize extends ChainId {
  readonly count: number;
  /** Turn of the first entry. */
  readonly firstTurn: number;
}

/** Turns of a chain, both ends excluded. */
export interface TurnRange {
  readonly after: number;
  readonly before: number;
}

/** Condition on stored entries: an id, a request, or the number of the newest ones. */
export type SpillFilter = EventFilter | { readonly newest: number };

/** Returns `true` if a stored entry is to be ignored, because the memory has a newer state of it. */
export type Skips = (position: number) => boolean;

/**
 * Storage of pending entries that have no room in memory. It reads what is stored; entries that are not stored yet are
 * with their queue.
 */
export interface SpillStore {
  /** Maximum number of pending entries in memory. */
  readonly maxInMemory: number;
  /** Number of pending entries in memory, of all queues that may spill. */
  readonly inMemory: number;
  /** Counts one more pending entry in memory. */
  admit(): void;
  /** Counts one pending entry less in memory. */
  release(): void;
  /** Makes the next transaction store an entry as one that is not in memory, by default with the last turn. */
  spill(queue: StoredQueue, entry: Entry, turn?: number): void;
  /** Makes the next transaction store the entry as one that is in memory. */
  unspill(queue: StoredQueue, entry: Entry): void;
  /** Stores what is not stored yet, and calls `fn` then. */
  afterStored(fn: () => void): void;
  /** Returns whether an entry of the queue cannot be used, so that none is read. */
  isDamaged(queue: StoredQueue): boolean;
  /** Returns the sizes of the stored chains of a queue, by the turns of their first entries. */
  chains(queue: StoredQueue, isKeyed: boolean): readonly ChainSize[];
  /** Returns the next entries of a chain, and fewer than `limit` only at its end; `undefined` if they cannot be read. */
  readChain(
    queue: StoredQueue,
    chain: ChainId,
    range: TurnRange,
    limit: number,
    skips: Skips,
  ): readonly Entry[] | undefined;
  /** Returns the delayed entries that are due, in the order of due times; `undefined` if they cannot be read. */
  readDue(queue: StoredQueue, limit: number, skips: Skips): readonly Entry[] | undefined;
  /** Returns the monotonic time at which the first delayed entry is due. */
  nextDueAt(queue: StoredQueue, skips: Skips): number | undefined;
  /** Returns the entries that match, newest first. */
  find(queue: StoredQueue, filter: SpillFilter, skips: Skips): readonly Entry[];
  /** Returns the number of entries of a request. */
  count(queue: StoredQueue, requestId: string, skips: Skips): number;
  /** Returns the time at which the oldest entry was accepted, and its position. */
  oldest(queue: StoredQueue, skips: Skips): { readonly position: number; readonly acceptedAt: number } | undefined;
}

/** Delivery of an entry that may have ended an earlier process. */
export interface GuardedDelivery {
  readonly entry: Entry;
  /** The delivery can still record an outcome. */
  readonly isLeased: boolean;
  /** Error with which the event fails in place of a run of its handler. */
  refusal: Error | undefined;
  commit(outcome: Outcome): unknown;
}

/** Counts the crashes of processes per entry, so that no entry crashes them for ever. */
export interface CrashGuard {
  /** The handler of the entry may have run when a process crashed. */
  isSuspect(entry: Entry): boolean;
  /** Stores the start of a suspect before it calls `handle`; or refuses or postpones the delivery. */
  deliver(delivery: GuardedDelivery, handle: () => void): void;
  /** Reports that no handler of the entry runs any more. */
  released(entry: Entry): void;
  /** Reports that an entry has ended, is retried or suspended, or has completed a step. */
  advanced(entry: Entry): void;
}
