import type { Outcome } from '../../transport.js';
import type { Entry } from './entry.js';

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
