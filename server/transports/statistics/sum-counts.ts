import type { Counts } from './stats.js';

/** Counts of one type in one service. */
export interface ServiceTypeCounts
  extends Omit<Counts, 'pending' | 'approvals' | 'oldestPendingAt' | 'lastReceivedAt' | 'lastFailedAt'> {
  readonly approvals?: number | undefined;
  readonly oldestPendingAt?: number | undefined;
  readonly lastReceivedAt?: number | undefined;
  readonly lastFailedAt?: number | undefined;
}

/** Sums the counts of several services. */
export function sumCounts(all: readonly ServiceTypeCounts[]): Counts {
  const total: { -readonly [K in keyof Counts]: Counts[K] } = {
    received: 0,
    completed: 0,
    failed: 0,
    cancelled: 0,
    pending: 0,
    active: 0,
    delayed: 0,
    suspended: 0,
    retried: 0,
    deduplicated: 0,
    deadLetters: 0,
  };
  let approvals = 0;
  let oldestPendingAt: number | undefined;
  let lastReceivedAt: number | undefined;
  let lastFailedAt: number | undefined;
  for (const counts of all) {
    total.received += counts.received;
    total.completed += counts.completed;
    total.failed += counts.failed;
    total.cancelled += counts.cancelled;
    total.active += counts.active;
    total.delayed += counts.delayed;
    total.suspended += counts.suspended;
    total.retried += counts.retried;
    total.deduplicated += counts.deduplicated;
    total.deadLetters += counts.deadLetters;
    approvals += counts.approvals ?? 0;
    oldestPendingAt = oldest(oldestPendingAt, counts.oldestPendingAt);
    lastReceivedAt = latest(lastReceivedAt, counts.lastReceivedAt);
    lastFailedAt = latest(lastFailedAt, counts.lastFailedAt);
  }
  total.pending = total.received - total.completed - total.failed;
  if (approvals > 0) total.approvals = approvals;
  if (oldestPendingAt !== undefined) total.oldestPendingAt = oldestPendingAt;
  if (lastReceivedAt !== undefined) total.lastReceivedAt = lastReceivedAt;
  if (lastFailedAt !== undefined) total.lastFailedAt = lastFailedAt;
  return total;
}

function latest(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || (other ?? 0) > one ? other : one;
}

function oldest(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || (other ?? one) < one ? other : one;
}
