import { minuteMs } from '../limits.js';
import type { Counts, RecentActivity } from './stats.js';

/** Events that wait to run, and how fast they arrive and leave. */
export interface BacklogRate {
  /** Events that are ready and wait for a slot: neither running, delayed, suspended, nor waiting for a version. */
  readonly waiting: number;
  /** Events received per minute over the last 5 minutes. */
  readonly inPerMinute: number;
  /** Events ended per minute over the last 5 minutes. */
  readonly outPerMinute: number;
  /** Epoch milliseconds at which none waits any more at this rate. Absent if the backlog does not shrink. */
  readonly emptyAt?: number;
}

/** Counts of the events that {@link waitingOf} tells apart. */
export type WaitingCounts = Pick<Counts, 'pending' | 'active' | 'delayed' | 'suspended' | 'awaitingVersion'>;

/** Returns the number of events that are ready and wait for a slot. */
export function waitingOf({ pending, active, delayed, suspended, awaitingVersion = 0 }: WaitingCounts): number {
  return Math.max(0, pending - active - delayed - suspended - awaitingVersion);
}

/** Computes the backlog of a type. @param now time at which the counts were read, in epoch milliseconds */
export function backlogRate(
  counts: WaitingCounts,
  { last5Min: { received, completed, failed } }: Pick<RecentActivity, 'last5Min'>,
  now: number,
): BacklogRate {
  const waiting = waitingOf(counts);
  // The counts are those of the current minute and the five before it.
  const minutes = 5 + (now % minuteMs) / minuteMs;
  const [inPerMinute, outPerMinute] = [received / minutes, (completed + failed) / minutes];
  const shrinks = outPerMinute - inPerMinute;
  return {
    waiting,
    inPerMinute,
    outPerMinute,
    ...(shrinks > 0 && { emptyAt: now + Math.round((waiting / shrinks) * minuteMs) }),
  };
}
