import type {
  Counts,
  Durations,
  Histories,
  History,
  PeriodCounts,
  RecentActivity,
} from '../../server/dashboard/protocol.js';
import { array, type Decoder, nullable, number, numbers, object, optional } from './decoder.js';

export const countFields = {
  received: number,
  completed: number,
  failed: number,
  pending: number,
  active: number,
  delayed: number,
  suspended: number,
  approvals: optional(number),
  retried: number,
  deduplicated: number,
  cancelled: number,
  deadLetters: number,
  oldestPendingAt: optional(number),
  lastReceivedAt: optional(number),
  lastFailedAt: optional(number),
};

const anyCounts = object<Counts>(countFields);

/**
 * Decodes counts. There are thousands per poll, so valid ones are recognized by fixed property names, which engines read
 * several times faster. The general decoder reports what is invalid.
 */
export const counts: Decoder<Counts> = (value) => (isCounts(value) ? value : anyCounts(value));

export function isCounts(value: unknown): value is Counts {
  if (typeof value !== 'object' || value === null) return false;
  const given: Partial<Record<keyof Counts, unknown>> = value;
  return (
    isNumber(given.received) &&
    isNumber(given.completed) &&
    isNumber(given.failed) &&
    isNumber(given.pending) &&
    isNumber(given.active) &&
    isNumber(given.delayed) &&
    isNumber(given.suspended) &&
    isOptionalNumber(given.approvals) &&
    isNumber(given.retried) &&
    isNumber(given.deduplicated) &&
    isNumber(given.cancelled) &&
    isNumber(given.deadLetters) &&
    isOptionalNumber(given.oldestPendingAt) &&
    isOptionalNumber(given.lastReceivedAt) &&
    isOptionalNumber(given.lastFailedAt)
  );
}

const anyPeriodCounts = object<PeriodCounts>({
  received: number,
  completed: number,
  failed: number,
  cancelled: number,
  retried: number,
});

export const periodCounts: Decoder<PeriodCounts> = (value) => (isPeriodCounts(value) ? value : anyPeriodCounts(value));

function isPeriodCounts(value: unknown): value is PeriodCounts {
  if (typeof value !== 'object' || value === null) return false;
  const given: Partial<Record<keyof PeriodCounts, unknown>> = value;
  return (
    isNumber(given.received) &&
    isNumber(given.completed) &&
    isNumber(given.failed) &&
    isNumber(given.cancelled) &&
    isNumber(given.retried)
  );
}

const minutes = object<RecentActivity['minutes']>({ received: numbers, failed: numbers });

const anyRecentActivity = object<RecentActivity>({
  last5Min: periodCounts,
  waitP95Ms: nullable(number),
  durationP95Ms: nullable(number),
  minutes,
});

export const recentActivity: Decoder<RecentActivity> = (value) =>
  isRecentActivity(value) ? value : anyRecentActivity(value);

export function isRecentActivity(value: unknown): value is RecentActivity {
  if (typeof value !== 'object' || value === null) return false;
  const given: Partial<Record<keyof RecentActivity, unknown>> = value;
  return (
    isPeriodCounts(given.last5Min) &&
    (given.waitP95Ms === null || isNumber(given.waitP95Ms)) &&
    (given.durationP95Ms === null || isNumber(given.durationP95Ms)) &&
    isMinutes(given.minutes)
  );
}

function isMinutes(value: unknown): value is RecentActivity['minutes'] {
  if (typeof value !== 'object' || value === null) return false;
  const given: { readonly received?: unknown; readonly failed?: unknown } = value;
  return isNumbers(given.received) && isNumbers(given.failed);
}

function isNumbers(value: unknown): value is readonly number[] {
  if (!Array.isArray(value)) return false;
  for (let at = 0; at < value.length; at++) if (!isNumber(value[at])) return false;
  return true;
}

/** Returns true for a finite number: one that gives 0 less itself. */
function isNumber(value: unknown): value is number {
  return typeof value === 'number' && value - value === 0;
}

function isOptionalNumber(value: unknown): value is number | undefined {
  return value === undefined || isNumber(value);
}

export const durations: Decoder<Durations> = object<Durations>({
  p50: nullable(number),
  p95: nullable(number),
  p99: nullable(number),
  max: nullable(number),
});

const history = object<History>({
  startAt: number,
  stepMs: number,
  received: numbers,
  completed: numbers,
  failed: numbers,
  waitP95Ms: array(nullable(number)),
  durationP95Ms: array(nullable(number)),
});

export const histories: Decoder<Histories> = object<Histories>({
  minutes: history,
  fiveMinutes: history,
  hours: history,
});
