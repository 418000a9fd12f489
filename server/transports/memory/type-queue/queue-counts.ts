import type { Counts } from '../../statistics/stats.js';
import { type ServiceTypeCounts, sumCounts } from '../../statistics/sum-counts.js';

/** The parts of a queue that have counts. */
export interface CountedQueue {
  readonly stats: Pick<
    ServiceTypeCounts,
    Exclude<keyof ServiceTypeCounts, 'deadLetters' | 'approvals' | 'oldestPendingAt'>
  >;
  readonly deadLetters: { readonly size: number };
  readonly runs: { readonly approvals: { readonly size: number } } | undefined;
  readonly reader: { readonly oldestAt: number | undefined };
}

/** Returns the counts of a queue. @param last an earlier result, which is returned if nothing has changed since */
export function readQueueCounts({ stats, deadLetters, runs, reader }: CountedQueue, last: Counts | undefined): Counts {
  const hasPending = stats.received > stats.completed + stats.failed;
  const oldestPendingAt = hasPending ? reader.oldestAt : undefined;
  const openDeadLetters = deadLetters.size;
  const approvals = runs?.approvals.size ?? 0;
  if (
    last !== undefined &&
    last.received === stats.received &&
    last.completed === stats.completed &&
    last.failed === stats.failed &&
    last.cancelled === stats.cancelled &&
    last.active === stats.active &&
    last.delayed === stats.delayed &&
    last.suspended === stats.suspended &&
    last.retried === stats.retried &&
    last.deduplicated === stats.deduplicated &&
    last.lastReceivedAt === stats.lastReceivedAt &&
    last.lastFailedAt === stats.lastFailedAt &&
    last.deadLetters === openDeadLetters &&
    last.oldestPendingAt === oldestPendingAt &&
    (last.approvals ?? 0) === approvals
  ) {
    return last;
  }
  const { received, completed, failed, cancelled, active, delayed, suspended, retried, deduplicated } = stats;
  const { lastReceivedAt, lastFailedAt } = stats;
  return sumCounts([
    {
      received,
      completed,
      failed,
      cancelled,
      active,
      delayed,
      suspended,
      retried,
      deduplicated,
      lastReceivedAt,
      lastFailedAt,
      deadLetters: openDeadLetters,
      approvals,
      oldestPendingAt,
    },
  ]);
}
