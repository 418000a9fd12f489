import { type ReadonlySignal, signal } from '@preact/signals';
import type { EventIntrospection } from '../../server/dashboard/protocol.js';
import { type EventStatus, eventStatus } from './event-status.js';
import {
  extendHistory,
  HISTORY_MS,
  type History,
  increase,
  increaseWithin,
  lastRestart,
  ratePerSecond,
  slices,
  type Tally,
} from './history.js';
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

/** One registered event type and its samples. */
export interface EventRow {
  readonly type: string;
  /** The type as last read, whole. */
  readonly event: ReadonlySignal<EventIntrospection>;
  readonly view: ReadonlySignal<RowView>;
  /** Takes in an answer and returns what was counted since the one before. */
  update(event: EventIntrospection, reading: Reading): Tally;
}

/** One moment on two clocks. */
export interface Moment {
  /** Milliseconds on the page's monotonic clock. */
  readonly at: number;
  /** Epoch milliseconds on the server's clock. */
  readonly serverNow: number;
}

/** When an answer was read, and after what. */
export interface Reading extends Moment {
  /** The hub began to count anew since the last answer. */
  readonly hubRestarted: boolean;
}

/** A row says for this long that its counting began anew. */
const RESTARTED_MS = 60_000;

/** Sparklines are cut this fine. */
const SLICE_MS = 5_000;

export function createEventRow(first: EventIntrospection, reading: Reading): EventRow {
  let history = extendHistory([], reading.at, first.metrics, false);
  const event = signal(first);
  const view = signal(viewOf(first, history, reading));
  return {
    type: first.type,
    event,
    view,
    update: (next, now) => {
      const before = history.at(-1);
      history = extendHistory(history, now.at, next.metrics, now.hubRestarted);
      event.value = next;
      const shown = viewOf(next, history, now);
      if (!isEqual(shown, view.value)) view.value = shown;
      const after = history.at(-1);
      return before && after ? increase(before, after) : { received: 0, completed: 0, failed: 0 };
    },
  };
}

/** Failed events as a part of those that ended; `null` while none has. */
export function failureRatio({ completed, failed }: Tally): number | null {
  return completed + failed === 0 ? null : failed / (completed + failed);
}

function viewOf({ metrics }: EventIntrospection, history: History, { at, serverNow }: Reading): RowView {
  const { received, completed, failed } = metrics;
  const rose = increaseWithin(history, HISTORY_MS);
  // Most of many types do nothing: they are spared the work of drawing a flat line.
  const cut = rose.received + rose.failed === 0 ? [] : slices(history, at, SLICE_MS, HISTORY_MS / SLICE_MS);
  const restartedAt = lastRestart(history);
  return {
    received,
    completed,
    failed,
    status: eventStatus(metrics, history, serverNow),
    ratePerSecond: ratePerSecond(history),
    failureRatio: failureRatio(metrics),
    recent: rose.received,
    restarted: restartedAt !== undefined && restartedAt > at - RESTARTED_MS,
    ...sparkline(cut),
  };
}

function isEqual(a: RowView, b: RowView): boolean {
  const after = new Map<string, unknown>(Object.entries(b));
  return Object.entries(a).every(([name, value]) => Object.is(value, after.get(name)));
}
