import type { Envelope } from '../../envelope.js';
import type { ScheduleRecord } from '../../schedules.js';
import type { Histories } from '../../statistics/stats.js';
import type { OpenPeriod } from '../statistics/period-series.js';
import type { CrashGuard } from './crash-guard.js';
import type { RememberedId } from './dedupe-window.js';
import type { EndedRun, Entry, LostEvent, StoredWait } from './entry.js';
import type { SpillStore } from './spill-store.js';
import type { StoredQueue } from './stored-queue.js';

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
  /** Reports a recorded entry of a run. */
  checkpoint(entry: Entry, key: string, value: string): void;
  /** Reports a wait that was opened or closed. */
  wait(stored: StoredWait, isOpen: boolean): void;
  /** Reports a dead letter, or that it was removed. */
  deadLetter(queue: StoredQueue, entry: Entry, letter: LostEvent | undefined): void;
  /** Reports an ended run that is retained, or that it was evicted. */
  run(queue: StoredQueue, entry: Entry, ended: EndedRun | undefined): void;
  /** Reports an ended event that is shown among the recent ones. */
  log(queue: StoredQueue): void;
  /** Reports counters or settings of a type. */
  queue(queue: StoredQueue): void;
  /** Reports new counts of a period in the history of a type; `undefined` for the one of all types. */
  period(type: string | undefined, kind: keyof Histories, period: OpenPeriod): void;
  /** Reports a deduplication id that was added or removed. */
  dedupe(type: string, dedupeId: string, remembered: RememberedId | undefined): void;
  /** Reports that a service receives the events of a type, or no longer does. */
  route(type: string, service: string, isOpen: boolean): void;
  schedule(record: Omit<ScheduleRecord, 'isOpen' | 'revision'>): void;
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
  checkpoint: ignore,
  wait: ignore,
  deadLetter: ignore,
  run: ignore,
  log: ignore,
  queue: ignore,
  period: ignore,
  dedupe: ignore,
  route: ignore,
  schedule: ignore,
};
