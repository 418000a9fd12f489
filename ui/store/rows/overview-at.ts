import type {
  Counts,
  EventColumns,
  EventColumnsDetails,
  EventOverview,
  PeriodCounts,
  RecentActivity,
} from '../../../server/dashboard/protocol.js';

/** Name of a count of an event type. */
export type CountName = Exclude<keyof Counts, OptionalName>;

type OptionalName = 'approvals' | 'oldestPendingAt' | 'lastReceivedAt' | 'lastFailedAt';

/** Returns a count of the event type at an index. */
export function countAt({ metrics }: EventColumns, index: number, name: CountName): number {
  return metrics[name]?.[index] ?? 0;
}

/** Returns the counts of the last 5 minutes of the event type at an index. */
export function last5MinAt({ last5Min }: EventColumns, index: number): PeriodCounts {
  return {
    received: last5Min.received?.[index] ?? 0,
    completed: last5Min.completed?.[index] ?? 0,
    failed: last5Min.failed?.[index] ?? 0,
    cancelled: last5Min.cancelled?.[index] ?? 0,
    retried: last5Min.retried?.[index] ?? 0,
  };
}

/** Returns the last minutes of the event type at an index. */
export function minutesAt({ minutes }: EventColumns, index: number): RecentActivity['minutes'] {
  return { received: parseCounts(minutes.received?.[index]), failed: parseCounts(minutes.failed?.[index]) };
}

/** Returns everything about the event type at an index. */
export function overviewAt(
  columns: EventColumns,
  index: number,
  { index: _, ...details }: EventColumnsDetails = { index, kind: 'handler' },
): EventOverview {
  const processes = columns.processes?.[index];
  return {
    type: columns.types[index] ?? '',
    ...details,
    ...(typeof processes === 'number' && { processes }),
    metrics: metricsAt(columns, index),
    recent: {
      last5Min: last5MinAt(columns, index),
      waitP95Ms: columns.waitP95Ms?.[index] ?? null,
      durationP95Ms: columns.durationP95Ms?.[index] ?? null,
      minutes: minutesAt(columns, index),
    },
  };
}

function metricsAt(columns: EventColumns, index: number): Counts {
  const count = (name: CountName): number => countAt(columns, index, name);
  const optional = (name: OptionalName): Partial<Counts> => {
    const value = columns.metrics[name]?.[index] ?? null;
    return value === null ? {} : { [name]: value };
  };
  return {
    received: count('received'),
    completed: count('completed'),
    failed: count('failed'),
    cancelled: count('cancelled'),
    pending: count('pending'),
    active: count('active'),
    delayed: count('delayed'),
    suspended: count('suspended'),
    retried: count('retried'),
    deduplicated: count('deduplicated'),
    deadLetters: count('deadLetters'),
    ...optional('approvals'),
    ...optional('oldestPendingAt'),
    ...optional('lastReceivedAt'),
    ...optional('lastFailedAt'),
  };
}

const SPACE = 32;
const ZERO = 48;

/** Parses counts such as "3 0 12", which the decoder has checked. A split is several times slower. */
function parseCounts(text = ''): readonly number[] {
  const counts: number[] = [];
  if (text === '') return counts;
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === SPACE) {
      counts.push(count);
      count = 0;
    } else count = count * 10 + code - ZERO;
  }
  counts.push(count);
  return counts;
}
