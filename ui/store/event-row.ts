import { computed, type ReadonlySignal } from '@preact/signals';
import type { Counts, EventIntrospection, EventKind } from '../../server/dashboard/protocol.js';
import { type EventStatus, eventStatus } from './event-status.js';
import { addSample, counted, type History, lastRestart, ratePerSecond, seenSlices, type Tally } from './history.js';
import type { Moment, Reading } from './moment.js';
import { type Sparkline, sparkline } from './sparkline.js';

/** What a row of the table shows. Two views of equal values are the same object, so a row renders only on a change. */
export interface RowView extends Tally, Sparkline {
  readonly kind: EventKind;
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
  readonly kind: 'row';
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

/**
 * @param readings changes with every answer that was taken in
 * @param past what was seen of the type before
 */
export function createEventRow(
  first: EventIntrospection,
  reading: Reading,
  readings: ReadonlySignal<Moment>,
  past: History = [],
): EventRow {
  const history = [...past];
  let changedAt = Number.NEGATIVE_INFINITY;
  let event = first;
  let status: EventStatus = 'never';
  let shown: RowView | undefined;

  const update = (next: EventIntrospection, now: Reading): Tally => {
    const step = addSample(history, now.at, next.metrics, now.hubRestarted);
    if (step.received + step.completed > 0) changedAt = now.at;
    event = next;
    status = eventStatus(next.metrics, changedAt, now);
    return step;
  };
  update(first, reading);

  return {
    kind: 'row',
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
      const next = viewOf(event, status, history, readings.value.at);
      if (JSON.stringify(next) !== JSON.stringify(shown)) shown = next;
      return shown ?? next;
    }),
    update,
  };
}

/** Failed events as a part of those that ended; `null` while none has. */
export function failureRatio({ completed, failed }: Tally): number | null {
  return completed + failed === 0 ? null : failed / (completed + failed);
}

function viewOf({ kind, metrics }: EventIntrospection, status: EventStatus, history: History, at: number): RowView {
  const { received, completed, failed } = metrics;
  const restartedAt = lastRestart(history);
  return {
    received,
    completed,
    failed,
    kind,
    status,
    ratePerSecond: ratePerSecond(history),
    failureRatio: failureRatio(metrics),
    recent: counted(history).received,
    restarted: restartedAt !== undefined && restartedAt > at - RESTARTED_MS,
    ...sparkline(seenSlices(history, at)),
  };
}
