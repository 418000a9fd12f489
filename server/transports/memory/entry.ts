import type { Envelope } from '../transport.js';
import type { RememberedId } from './dedupe-window.js';

/** An accepted event until its outcome is recorded. */
export interface Entry {
  /** Replaced while the event waits in its debounce window. */
  envelope: Envelope;
  /** The next or the running attempt, from 1. */
  attempt: number;
  ended: boolean;
  /** The lease of the running attempt. */
  lease: Lease | undefined;
  /** List in which the entry takes a slot of its key: from its first start until it ends. */
  keyHolder: object | undefined;
  /** Size of the payload. */
  bytes: number;
  /** Deduplication id that stands for the event, besides its window, until the event has ended. */
  readonly remembered: RememberedId | undefined;
  readonly checkpoints: Map<string, string> | undefined;
}

/** Right of one attempt to record the outcome of its entry. */
export interface Lease {
  /** Frees the slot that the attempt takes. */
  release(): void;
  /** Ends the lease: a later commit changes nothing. */
  revoke(reason: Error): void;
}
