import { computed, type ReadonlySignal } from '@preact/signals';
import type {
  EventColumns,
  EventColumnsDetails,
  EventKind,
  EventOverview,
  PeriodCounts,
  RecentActivity,
} from '../../../server/dashboard/protocol.js';
import { failureRatio, ratePerSecond } from '../period.js';
import type { Reading } from '../reading.js';
import { subscribeTo } from '../subscribe-to.js';
import { type EventStatus, eventStatus } from './event-status.js';
import { type CountName, countAt, last5MinAt, minutesAt, overviewAt } from './overview-at.js';
import { type Trend, trendOf } from './trend.js';

/** Values of a table row. Equal values are the same object, so that a row renders only on a change. */
export interface RowView extends Trend {
  readonly kind: EventKind;
  readonly status: EventStatus;
  /** Failure rate of the last 5 minutes; `null` unless the type is failing. */
  readonly failingRatio: number | null;
  /** Events received per second: in the last minute, or in the selected range. */
  readonly ratePerSecond: number | null;
  /** Failed events without cancelled ones: in the last 5 minutes, or in the selected range. */
  readonly failed: number;
  /** Failure rate of the same period; `null` if no event ended in it. */
  readonly failureRatio: number | null;
  /** Retried attempts of the same period. */
  readonly retried: number;
  /** Events that have not ended now. */
  readonly pending: number;
  /** Events received since the start, or in the selected range. */
  readonly received: number;
}

/**
 * Registered event type. The signals update with each response. The plain fields have the values of the last response:
 * lists of thousands of rows read them and subscribe to `HubStore.reading` instead.
 */
export interface EventRow {
  readonly kind: 'row';
  readonly type: string;
  readonly status: EventStatus;
  /** Counts of the last 5 minutes. */
  readonly last5Min: PeriodCounts;
  readonly minutes: RecentActivity['minutes'];
  /** Everything about the type in the last response. */
  readonly event: ReadonlySignal<EventOverview>;
  readonly view: ReadonlySignal<RowView>;
  /** Returns a count. */
  count(name: CountName): number;
  /** Applies a response and returns the number of failures since the previous one. */
  update(source: EventSource, reading: Reading): number;
}

/** Place of an event type in a response. */
export interface EventSource {
  readonly columns: EventColumns;
  readonly index: number;
  /** `undefined` for a type with a handler and nothing else. */
  readonly details: EventColumnsDetails | undefined;
}

const NONE: PeriodCounts = { received: 0, completed: 0, failed: 0, cancelled: 0, retried: 0 };

/**
 * Creates the row of an event type.
 *
 * @param readings signal that changes with every applied response and with the selected range
 */
export function createEventRow(first: EventSource, now: Reading, readings: ReadonlySignal<Reading>): EventRow {
  let source = first;
  let status: EventStatus = 'never';
  let failed = countAt(first.columns, first.index, 'failed');
  let shown: RowView | undefined;

  const update = (next: EventSource, reading: Reading): number => {
    const { columns, index } = next;
    const failedBefore = failed;
    source = next;
    failed = countAt(columns, index, 'failed');
    status = eventStatus(columns, index, reading.problems, reading.serverNow);
    return Math.max(0, failed - failedBefore);
  };
  update(first, now);

  const row: EventRow = {
    kind: 'row',
    type: first.columns.types[first.index] ?? '',
    get status() {
      return status;
    },
    get last5Min() {
      return last5MinAt(source.columns, source.index);
    },
    get minutes() {
      return minutesAt(source.columns, source.index);
    },
    event: computed(() => {
      subscribeTo(readings);
      return overviewAt(source.columns, source.index, source.details);
    }),
    view: computed(() => {
      const next = viewOf(row, source.details?.kind ?? 'handler', readings.value);
      if (shown === undefined || !isSame(next, shown)) shown = next;
      return shown;
    }),
    count: (name) => countAt(source.columns, source.index, name),
    update,
  };
  return row;
}

/** Returns the counts that a row shows: of the selected range, else of the last 5 minutes. */
export function shownCounts(row: EventRow, { range }: Pick<Reading, 'range'>): PeriodCounts {
  return range === null ? row.last5Min : (range.byType.get(row.type) ?? NONE);
}

/** Returns the rate that a row shows: of the selected range, else of the last minute. */
export function shownRate(row: EventRow, { range, hubNow, startedAt }: Reading): number | null {
  if (range === null) return ratePerSecond(row.minutes, hubNow, startedAt);
  const spanMs = Math.min(range.to, hubNow) - range.from;
  return spanMs <= 0 ? null : (shownCounts(row, { range }).received / spanMs) * 1_000;
}

/** Returns the count of received events that a row shows: of the selected range, else since the start. */
export function shownReceived(row: EventRow, reading: Pick<Reading, 'range'>): number {
  return reading.range === null ? row.count('received') : (reading.range.byType.get(row.type)?.received ?? 0);
}

function viewOf(row: EventRow, kind: EventKind, reading: Reading): RowView {
  const counts = shownCounts(row, reading);
  return {
    kind,
    status: row.status,
    failingRatio: row.status === 'failing' ? failureRatio(row.last5Min) : null,
    ratePerSecond: shownRate(row, reading),
    failed: counts.failed - counts.cancelled,
    failureRatio: failureRatio(counts),
    retried: counts.retried,
    pending: row.count('pending'),
    received: shownReceived(row, reading),
    ...trendOf(row.minutes),
  };
}

function isSame(a: RowView, b: RowView): boolean {
  return (
    a.ratePerSecond === b.ratePerSecond &&
    a.received === b.received &&
    a.failed === b.failed &&
    a.status === b.status &&
    a.failingRatio === b.failingRatio &&
    a.failureRatio === b.failureRatio &&
    a.retried === b.retried &&
    a.pending === b.pending &&
    a.kind === b.kind &&
    a.trendReceived === b.trendReceived &&
    a.trendFailed === b.trendFailed
  );
}
