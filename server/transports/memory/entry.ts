import type { Envelope } from '../transport.js';

/** An accepted event until its outcome is recorded. */
export interface Entry {
  readonly envelope: Envelope;
  /** The next or the running attempt, from 1. */
  attempt: number;
  ended: boolean;
  /** The lease of the running attempt. */
  lease: Lease | undefined;
  readonly checkpoints: Map<string, string> | undefined;
}

/** Right of one attempt to record the outcome of its entry. */
export interface Lease {
  /** Frees the slot that the attempt takes. */
  release(): void;
  /** Ends the lease: a later commit changes nothing. */
  revoke(reason: Error): void;
}
