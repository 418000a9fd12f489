import type { ErrorInfo } from '../errors.js';
import { keptAttempts } from './limits.js';

/** Attempt at an event. */
export interface AttemptRecord {
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** Epoch milliseconds; absent while the attempt runs. */
  readonly endedAt?: number;
  /** Absent if the attempt runs, succeeded or was interrupted. */
  readonly error?: ErrorInfo;
  /**
   * The attempt ended without an outcome: its process was killed, lost its lease or stopped. After a kill and a lost
   * lease, `endedAt` is the time at which the next attempt started.
   */
  readonly isInterrupted?: boolean;
}

/** Error that stands for an interruption in records that earlier versions read. */
export const interruptedError: ErrorInfo = { name: 'InterruptedError', message: 'interrupted' };

/** Adds an attempt, and drops the oldest one after the first if there are too many. */
export function keepAttempt(attempts: readonly AttemptRecord[], attempt: AttemptRecord): readonly AttemptRecord[] {
  const all = [...attempts, attempt];
  return all.length > keptAttempts ? [...all.slice(0, 1), ...all.slice(2)] : all;
}
