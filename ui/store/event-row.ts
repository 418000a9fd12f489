import { computed, type ReadonlySignal } from '@preact/signals';
import type { Counts, EventIntrospection, EventKind } from '../../server/dashboard/protocol.js';
import { type EventStatus, eventStatus } from './event-status.js';
import {
  addSample,
  type History,
  increaseOver,
  lastRestart,
  ratePerSecond,
  recentSlices,
  type Tally,
} from './history.js';
import type { Moment, Reading } from './moment.js';
import { type Sparkline, sparkline } from './sparkline.js';
import { subscribeTo } from './subscribe-to.js';

/** Values of a table row. Equal values are the same object, so that a row renders only on a change. */
export interface RowView extends Tally, Sparkline {
  readonly kind: EventKind;
  readonly status: EventStatus;
  readonly ratePerSecond: number | null;
  /** Failed events divided by completed and failed events; `null` before the first one. */
  readonly failureRatio: number | null;
  /** Events received in the period of the sparkline. */
  readonly recent: number;
  /** True if the counters restarted in the last minute. */
  readonly restarted: boolean;
}

/**
 * Registered event type with its samples. The signals update with each response. The plain fields have the values of the
 * last response: lists of thousands of rows read them and subscribe to `HubStore.reading` instead.
 */
export interface EventRow {
  readonly kind: 'row';
  readonly type: string;
  readonly metrics: Counts;
  readonly status: EventStatus;
  readonly history: History;
  /** Description of the type in the last response. */
  readonly event: ReadonlySignal<EventIntrospection>;
  readonly view: ReadonlySignal<RowView>;
  /** Applies a response and returns the increase of each counter since the previous one. */
  update(event: EventIntrospection, reading: Reading): Tally;
}

/** Time for which a row is marked as restarted. */
const RESTARTED_MS = 60_000;

/**
 * Creates the row of an event type.
 *
 * @param readings signal that changes with every applied response
 * @param earlier samples from before the store was created
 */
export function createEventRow(
  first: EventIntrospection,
  reading: Reading,
  readings: ReadonlySignal<Moment>,
  earlier: History = [],
): EventRow {
  const history = [...earlier];
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
      subscribeTo(readings);
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

/** Returns failed events divided by completed and failed events; `null` before the first one. */
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
    recent: increaseOver(history).received,
    restarted: restartedAt !== undefined && restartedAt > at - RESTARTED_MS,
    ...sparkline(recentSlices(history, at)),
  };
}
