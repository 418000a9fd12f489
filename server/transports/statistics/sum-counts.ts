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
  const sum = (read: (counts: ServiceTypeCounts) => number): number =>
    all.reduce((total, counts) => total + read(counts), 0);
  const received = sum((counts) => counts.received);
  const completed = sum((counts) => counts.completed);
  const failed = sum((counts) => counts.failed);
  const approvals = sum((counts) => counts.approvals ?? 0);
  const oldestPendingAt = oldest(all.map((counts) => counts.oldestPendingAt));
  const lastReceivedAt = latest(all.map((counts) => counts.lastReceivedAt));
  const lastFailedAt = latest(all.map((counts) => counts.lastFailedAt));
  return {
    received,
    completed,
    failed,
    cancelled: sum((counts) => counts.cancelled),
    pending: received - completed - failed,
    active: sum((counts) => counts.active),
    delayed: sum((counts) => counts.delayed),
    suspended: sum((counts) => counts.suspended),
    ...(approvals > 0 && { approvals }),
    retried: sum((counts) => counts.retried),
    deduplicated: sum((counts) => counts.deduplicated),
    deadLetters: sum((counts) => counts.deadLetters),
    ...(oldestPendingAt !== undefined && { oldestPendingAt }),
    ...(lastReceivedAt !== undefined && { lastReceivedAt }),
    ...(lastFailedAt !== undefined && { lastFailedAt }),
  };
}

function latest(times: readonly (number | undefined)[]): number | undefined {
  return times.reduce((last, time) => (last === undefined || (time ?? 0) > last ? time : last), undefined);
}

function oldest(times: readonly (number | undefined)[]): number | undefined {
  return times.reduce((first, time) => (first === undefined || (time ?? first) < first ? time : first), undefined);
}
