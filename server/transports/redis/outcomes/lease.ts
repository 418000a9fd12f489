import type { ScriptArgument } from '../scripts/script.js';

/** Lease of a job to this process. */
export interface Lease {
  /** Prefix of the keys of the job's queue. */
  readonly queue: string;
  readonly jobId: string;
  /** Value of the job's lock while the lease lasts; `''` after its end. */
  readonly token: string;
  /** Number of times that the job was started, this lease included. */
  readonly starts: number;
  readonly serviceType: string;
  readonly keepsRuns: boolean;
}

/** Returns a lease as arguments of a script. */
export function leaseArguments({ queue, jobId, token, starts, serviceType }: Lease): ScriptArgument[] {
  return [queue, jobId, token, starts, serviceType];
}
