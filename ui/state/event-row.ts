import { computed, type ReadonlySignal } from '@preact/signals';
import {
  type CounterOf,
  type Counts,
  countersOf,
  type EventColumns,
  type EventColumnsDetails,
  type EventKind,
  type EventOverview,
  type PeriodCounts,
  type Problem,
  periodCounters,
  type RecentActivity,
} from '../../server/dashboard/protocol.js';
import { failureRatio, ratePerSecond } from './recent-activity.js';

/**
 * Registered event type. The signals update with each response. The plain fields have the values of the last response:
 * lists of thousands of rows read them and subscribe to `HubStore.reading` instead.
 */
export interface EventRow {
  readonly kind: 'row';
  readonly type: string;
  readonly eventKind: EventKind;
  readonly status: EventStatus;
  /** Worst problem of a type with the status `attention`. */
  readonly cause: AttentionCause | null;
  /** Counts of the last 5 minutes. */
  readonly last5Min: PeriodCounts;
  readonly minutes: RecentActivity['minutes'];
  /** Running handlers of so many slots of the type; `null` if it shares the slots of the processes. */
  readonly slots: Slots | null;
  /** Parts that few types have, such as follow-up events and the agent; `undefined` for a type with a handler and nothing else. */
  readonly details: EventColumnsDetails | undefined;
  /** Everything about the type in the last response. Lists of all rows read the plain fields, which cost less. */
  readonly event: ReadonlySignal<EventOverview>;
  /** Returns a count. */
  count(name: CountName): number;
  /** Applies a response and returns the number of failures since the previous one. */
  update(source: EventSource, reading: Reading): number;
}

/** Slots of an event type. */
export interface Slots {
  readonly taken: number;
  readonly all: number;
  /** All slots are taken, and events wait for one. */
  readonly isFull: boolean;
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
  let causes = now.problems.attention;

  const update = (next: EventSource, reading: Reading): number => {
    const { columns, index } = next;
    const failedBefore = failed;
    source = next;
    failed = countAt(columns, index, 'failed');
    const isPaused = next.details?.paused !== undefined;
    status = isPaused ? 'paused' : eventStatus(columns, index, reading.problems, reading.serverNow);
    causes = reading.problems.attention;
    return Math.max(0, failed - failedBefore);
  };
  update(first, now);

  return {
    kind: 'row',
    type: first.columns.types[first.index] ?? '',
    get eventKind() {
      return source.details?.kind ?? 'handler';
    },
    get status() {
      return status;
    },
    get cause() {
      if (status !== 'attention') return null;
      const isDead = countAt(source.columns, source.index, 'deadLetters') > 0;
      return causes.get(source.columns.types[source.index] ?? '') ?? (isDead ? 'dead-letters' : null);
    },
    get last5Min() {
      return last5MinAt(source.columns, source.index);
    },
    get minutes() {
      return minutesAt(source.columns, source.index);
    },
    get details() {
      return source.details;
    },
    get slots() {
      const all = source.details?.concurrency;
      if (all === undefined) return null;
      const count = (name: CountName): number => countAt(source.columns, source.index, name);
      const taken = count('active');
      const waiting = count('pending') - count('delayed') - count('suspended') - taken;
      return { taken, all, isFull: taken >= all && waiting > 0 };
    },
    event: computed(() => {
      subscribeTo(readings);
      return overviewAt(source.columns, source.index, source.details);
    }),
    count: (name) => countAt(source.columns, source.index, name),
    update,
  };
}

/** Returns the counts that a row shows: of the selected range, else of the last 5 minutes. */
export function shownCounts(row: EventRow, { range }: Pick<Reading, 'range'>): PeriodCounts {
  return range === null ? row.last5Min : (range.byType.get(row.type) ?? NONE);
}

/** Returns the rate that a row shows: of the selected range, else of the last minute. */
export function shownRate(row: EventRow, { range, hubNow, startedAt }: Reading): number | null {
  if (range === null) return ratePerSecond(row.minutes, hubNow, startedAt);
  return rangeRate(shownCounts(row, { range }), range, hubNow);
}

/** Returns the events received per second in a range; `null` if it has not begun. */
export function rangeRate(
  { received }: Pick<PeriodCounts, 'received'>,
  { from, to }: Pick<SelectedRange, 'from' | 'to'>,
  hubNow: number,
): number | null {
  const spanMs = Math.min(to, hubNow) - from;
  return spanMs <= 0 ? null : (received / spanMs) * 1_000;
}

/** Returns the counts of all types in a range. */
export function sumRange({ byType }: SelectedRange): PeriodCounts {
  const sum = { ...NONE };
  for (const counts of byType.values()) {
    for (const name of periodCounters) sum[name] += counts[name];
  }
  return sum;
}

/** Returns the count of received events that a row shows: of the selected range, else since the start. */
export function shownReceived(row: EventRow, reading: Pick<Reading, 'range'>): number {
  return reading.range === null ? row.count('received') : (reading.range.byType.get(row.type)?.received ?? 0);
}

/** Returns the failure rate of the last 5 minutes of a type that is failing; `null` of any other. */
export function failingRatio({ status, last5Min }: EventRow): number | null {
  return status === 'failing' ? failureRatio(last5Min) : null;
}

/** Status of an event type. */
export type EventStatus = 'failing' | 'attention' | 'paused' | 'active' | 'idle' | 'never';

/** Severity of failures: below 1 %, below 10 %, or more. */
export type FailureLevel = 'low' | 'medium' | 'high';

/** A type is active for this time after an event was received. */
export const ACTIVE_MS = 60_000;

/** Problems of the hub that decide the status of event types. */
interface ProblemTypes {
  /** Types that the server lists as failing. */
  readonly failing: ReadonlySet<string>;
  /** Worst other problem of each type that has one. */
  readonly attention: ReadonlyMap<string, AttentionCause>;
}

/** Kind of a problem of an event type that is not a failure. */
export type AttentionCause = Exclude<Problem['kind'], 'failing' | 'lost-process'>;

/** Sorts the problems of event types by their effect on the status. */
export function problemTypes(problems: readonly Problem[]): ProblemTypes {
  const failing = new Set<string>();
  const attention = new Map<string, AttentionCause>();
  for (const { kind, eventType } of problems) {
    if (eventType === undefined) continue;
    if (kind === 'failing') failing.add(eventType);
    // The server lists the worst first.
    else if (kind !== 'lost-process' && !attention.has(eventType)) attention.set(eventType, kind);
  }
  return { failing, attention };
}

/**
 * Returns the status of a type. The first rule that applies decides:
 *
 * 1. failing: an event failed in the last 5 minutes, unless all dead letters were replayed since
 * 2. attention: there are open dead letters or another problem, such as a backlog
 * 3. active: a handler runs, or an event was received in the last minute
 * 4. never: no event was ever received
 * 5. idle: none of the above
 *
 * @param index index of the type in the columns
 * @param now current time in epoch milliseconds on the server's clock
 */
export function eventStatus(columns: EventColumns, index: number, problems: ProblemTypes, now: number): EventStatus {
  const type = columns.types[index] ?? '';
  const failed = (columns.last5Min.failed?.[index] ?? 0) - (columns.last5Min.cancelled?.[index] ?? 0);
  const deadLetters = countAt(columns, index, 'deadLetters');
  // The server lists at most 50 problems, so the counts decide too.
  if (problems.failing.has(type) || (failed > 0 && deadLetters > 0)) return 'failing';
  if (deadLetters > 0 || problems.attention.has(type)) return 'attention';
  const lastReceivedAt = columns.metrics.lastReceivedAt?.[index] ?? null;
  if (countAt(columns, index, 'active') > 0) return 'active';
  if (lastReceivedAt !== null && now - lastReceivedAt < ACTIVE_MS) return 'active';
  return countAt(columns, index, 'received') === 0 ? 'never' : 'idle';
}

/** Returns the severity of a failure rate; `medium` if the rate is unknown. */
export function failureLevel(ratio: number | null): FailureLevel {
  if (ratio === null) return 'medium';
  return ratio < 0.01 ? 'low' : ratio < 0.1 ? 'medium' : 'high';
}

/** Name of a count of an event type. */
type CountName = CounterOf<'stored' | 'live'>;

/** Returns a count of the event type at an index. */
export function countAt({ metrics }: EventColumns, index: number, name: CountName): number {
  return metrics[name]?.[index] ?? 0;
}

/** Returns the counts of the last 5 minutes of the event type at an index. */
function last5MinAt({ last5Min }: EventColumns, index: number): PeriodCounts {
  const counts = { ...NONE };
  for (const name of periodCounters) counts[name] = last5Min[name]?.[index] ?? 0;
  return counts;
}

/** Returns the last minutes of the event type at an index. */
function minutesAt({ minutes }: EventColumns, index: number): RecentActivity['minutes'] {
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
  const metrics: Record<string, number> = {};
  for (const name of countersOf('stored', 'live')) metrics[name] = countAt(columns, index, name);
  for (const name of countersOf('optional', 'latest', 'oldest')) {
    const value = columns.metrics[name]?.[index] ?? null;
    if (value !== null) metrics[name] = value;
  }
  // Both lists together have all names.
  return metrics as unknown as Counts;
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

/** Counts of the selected range. */
export interface SelectedRange {
  /** Epoch milliseconds. */
  readonly from: number;
  readonly to: number;
  readonly byType: ReadonlyMap<string, PeriodCounts>;
}

/** Parts of the last response that all rows share. */
export interface Reading extends Moment {
  /** Time at which the server read its counts, in epoch milliseconds. */
  readonly hubNow: number;
  /** Time at which the hub started, in epoch milliseconds. */
  readonly startedAt: number | null;
  readonly problems: ProblemTypes;
  /** `null`: rows show the last minutes. */
  readonly range: SelectedRange | null;
}

/** Point in time on two clocks. */
export interface Moment {
  /** Milliseconds on the page's monotonic clock. */
  readonly at: number;
  /** Epoch milliseconds on the server's clock. */
  readonly serverNow: number;
}

/** Subscribes the running component, effect or computed signal to a signal whose value it does not use. */
export function subscribeTo(signal: ReadonlySignal<unknown>): void {
  // A call, because bundlers may drop a property read whose value is unused.
  signal.valueOf();
}
