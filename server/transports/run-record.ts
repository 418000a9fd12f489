import type { ErrorInfo } from '../errors.js';
import type { AttemptRecord } from './attempt-record.js';
import type { Envelope } from './envelope.js';

/** Open wait of a run. */
export interface OpenWait {
  readonly key: string;
  /** Epoch milliseconds at which the wait was stored. */
  readonly since: number;
  /** Epoch milliseconds at which it resolves by time. */
  readonly dueAt?: number | undefined;
  readonly event?: { readonly type: string; readonly key: string | undefined } | undefined;
  /** Id of the child run. */
  readonly runId?: string | undefined;
  /** It waits for the decision of a person. */
  readonly isApproval?: boolean | undefined;
}

/** State of a run. */
export type RunStatus = 'waiting' | 'active' | 'suspended' | 'completed' | 'failed';

/** One event of a type with `keepsRuns`. */
export interface RunRecord {
  readonly id: string;
  readonly service: string;
  readonly envelope: Envelope;
  /** Time of acceptance in epoch milliseconds. */
  readonly acceptedAt: number;
  /** Number of the next, running or last attempt. */
  readonly attempt: number;
  readonly status: RunStatus;
  readonly checkpoints: ReadonlyMap<string, string>;
  /** Open waits; of an ended run the oldest of those that were open at its end, at most 100. */
  readonly waits: readonly OpenWait[];
  /** Attempts at the run that were interrupted: the first one and the latest ones, at most 10. */
  readonly interruptions: readonly AttemptRecord[];
  /** Time of the outcome in epoch milliseconds; `undefined` while the run is pending. */
  readonly endedAt: number | undefined;
  /** Result of a completed run as JSON. */
  readonly result: string | undefined;
  /** Error of a failed run. */
  readonly error: ErrorInfo | undefined;
}

/** Sorts runs that wait: those with the oldest open approvals first. */
export function approvalsFirst(runs: readonly RunRecord[]): readonly RunRecord[] {
  const since = ({ waits }: RunRecord): number =>
    Math.min(...waits.filter(({ isApproval }) => isApproval === true).map((wait) => wait.since), Number.MAX_VALUE);
  return [...runs].sort((a, b) => since(a) - since(b));
}
