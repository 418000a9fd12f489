import { computed, type ReadonlySignal } from '@preact/signals';
import type { Counts, EventIntrospection } from '../../server/dashboard/protocol.js';
import { createLastSeen, type EventStatus, eventStatus } from './event-status.js';
import {
  addSample,
  HISTORY_MS,
  type History,
  increaseWithin,
  lastRestart,
  ratePerSecond,
  type Sample,
  seenSlices,
  type Tally,
} from './history.js';
import type { Moment, Reading } from './reading.js';
import { type Sparkline, sparkline } from './sparkline.js';

/** What a row of the table shows. Two views of equal values are the same object, so a row renders only on a change. */
export interface RowView extends Tally, Sparkline {
  readonly status: EventStatus;
  readonly ratePerSecond: number | null;
  /** Part of the ended events that failed; `null` while none has ended. */
  readonly failureRatio: number | null;
  /** Events received in the time that the sparkline shows. */
  readonly recent: number;
  /** Counting began anew a moment ago. */
  readonly restarted: boolean;
}

/**
 * One registered event type and its samples. What is a signal follows the store's readings; the rest is as of the last
 * one, for lists of thousands of rows, which follow the readings themselves.
 */
export interface EventRow {
  readonly type: string;
  readonly metrics: Counts;
  readonly status: EventStatus;
  readonly history: History;
  /** The type as last read, whole. */
  readonly event: ReadonlySignal<EventIntrospection>;
  readonly view: ReadonlySignal<RowView>;
  /** Takes in an answer and returns what was counted since the one before. */
  update(event: EventIntrospection, reading: Reading): Tally;
}

/** A row says for this long that its counting began anew. */
const RESTARTED_MS = 60_000;

/** @param readings changes with every answer that was taken in */
export function createEventRow(
  first: EventIntrospection,
  reading: Reading,
  readings: ReadonlySignal<Moment>,
  samples: readonly Sample[] = [],
): EventRow {
  const history = [...samples];
  const lastSeen = createLastSeen();
  let event = first;
  let status: EventStatus = 'never';
  let shown: RowView | undefined;

  const update = (next: EventIntrospection, now: Reading): Tally => {
    const counted = addSample(history, now.at, next.metrics, now.hubRestarted);
    lastSeen.note(counted, now.at);
    event = next;
    status = eventStatus(next.metrics, lastSeen, now);
    return counted;
  };
  update(first, reading);

  return {
    type: first.type,
    get metrics() {
      return event.metrics;
    },
    get status() {
      return status;
    },
    history,
    event: computed(() => {
      readings.value;
      return event;
    }),
    view: computed(() => {
      const next = viewOf(event.metrics, status, history, readings.value.at);
      if (shown === undefined || !isEqual(next, shown)) shown = next;
      return shown;
    }),
    update,
  };
}

/** Failed events as a part of those that ended; `null` while none has. */
export function failureRatio({ completed, failed }: Tally): number | null {
  return completed + failed === 0 ? null : failed / (completed + failed);
}

function viewOf({ received, completed, failed }: Counts, status: EventStatus, history: History, at: number): RowView {
  const restartedAt = lastRestart(history);
  return {
    received,
    completed,
    failed,
    status,
    ratePerSecond: ratePerSecond(history),
    failureRatio: failureRatio({ received, completed, failed }),
    recent: increaseWithin(history, HISTORY_MS).received,
    restarted: restartedAt !== undefined && restartedAt > at - RESTARTED_MS,
    ...sparkline(seenSlices(history, at)),
  };
}

function isEqual(a: RowView, b: RowView): boolean {
  const after = new Map<string, unknown>(Object.entries(b));
  return Object.entries(a).every(([name, value]) => Object.is(value, after.get(name)));
}
