import type { AttemptIntrospection, EventDetails, StepIntrospection } from '../../server/dashboard/protocol.js';
import { turnFacts } from '../shared/turn-facts.js';
import { stepBars, stepTitle } from './step-bars.js';
import type { Bar, TraceState } from './trace-bar.js';

/** Row of a trace: an event, a run, an attempt or a step. */
export interface TraceRow {
  /** Identity in the trace. */
  readonly key: string;
  /** Depth in the tree, from 0. */
  readonly depth: number;
  readonly kind: string;
  readonly name: string;
  readonly state: TraceState;
  /** Parts of the time axis, in the order in which they are drawn. */
  readonly bars: readonly Bar[];
  /** Milliseconds that it waited; `null` if it did not wait or if that is not known. */
  readonly waitedMs: number | null;
  /** Milliseconds that it ran; `null` before it has run. */
  readonly ranMs: number | null;
  /** Error, or what it waits for; empty if there is nothing to say. */
  readonly note: string;
  /** Event or run; `null` for its parts. */
  readonly event: EventDetails | null;
}

/** Separates the name of a step from the names of the steps inside it. */
const PATH_SEPARATOR = ' / ';

/**
 * Returns the tree of a request as rows: each event with its attempts and steps, then the events that it led to.
 *
 * @param now current time in epoch milliseconds on the server's clock
 */
export function traceRows(events: readonly EventDetails[], now: number): readonly TraceRow[] {
  const known = new Set(events.map(({ id }) => id));
  const byCause = new Map<string, EventDetails[]>();
  const roots: EventDetails[] = [];
  for (const event of events) {
    const { causeId, id } = event;
    if (causeId === undefined || causeId === id || !known.has(causeId)) {
      roots.push(event);
      continue;
    }
    const siblings = byCause.get(causeId);
    if (siblings === undefined) byCause.set(causeId, [event]);
    else siblings.push(event);
  }
  const rows: TraceRow[] = [];
  // An event that several services handle leads to others only once.
  const visited = new Set<string>();
  const add = (event: EventDetails, depth: number): void => {
    rows.push(eventRow(event, depth, now), ...partsOf(event, depth + 1, now));
    if (visited.has(event.id)) return;
    visited.add(event.id);
    for (const child of byCause.get(event.id) ?? []) add(child, depth + 1);
  };
  for (const root of roots) add(root, 0);
  return rows;
}

function eventRow(event: EventDetails, depth: number, now: number): TraceRow {
  const { kind, type, service, status, waitMs, error, dueAt } = event;
  return {
    key: JSON.stringify([event.id, service]),
    depth,
    kind,
    name: type,
    state: status,
    bars: eventBars(event, now),
    waitedMs: waitMs ?? null,
    ranMs: ranMs(event, now),
    note: error?.message ?? (status === 'delayed' && dueAt !== undefined ? 'waits for its time' : ''),
    event,
  };
}

/** Returns the milliseconds that an event ran, with those of a running attempt so far; `null` before it has run. */
function ranMs({ status, attempts, runMs }: EventDetails, now: number): number | null {
  const running = status === 'active' && attempts.find((attempt) => attemptState(attempt) === 'active');
  return running ? (runMs ?? 0) + now - running.startedAt : (runMs ?? null);
}

function eventBars(event: EventDetails, now: number): readonly Bar[] {
  const { acceptedAt, startedAt, endedAt, attempts, steps, status } = event;
  const end = endedAt ?? now;
  const start = startedAt ?? attempts[0]?.startedAt ?? end;
  const bars: Bar[] = [{ from: acceptedAt, to: Math.max(acceptedAt, start), tone: 'waiting' }];
  // The attempts of a run are those that were interrupted.
  if (attempts.length === 0 || steps !== undefined) {
    if (startedAt !== undefined) bars.push({ from: startedAt, to: end, tone: toneOf(status) });
    return bars;
  }
  let last = start;
  for (const attempt of attempts) {
    const { startedAt: from, endedAt: to = end } = attempt;
    const state = attemptState(attempt);
    if (from > last) bars.push({ from: last, to: from, tone: 'waiting' });
    bars.push({ from, to, tone: toneOf(state === 'completed' && to === end ? status : state) });
    last = to;
  }
  if (last < end && endedAt === undefined) bars.push({ from: last, to: end, tone: 'waiting' });
  return bars;
}

function toneOf(status: TraceState): Bar['tone'] {
  if (status === 'active') return 'running';
  const isTone = status === 'completed' || status === 'failed' || status === 'cancelled' || status === 'interrupted';
  return isTone ? status : 'waiting';
}

function attemptState({ endedAt, error, isInterrupted }: AttemptIntrospection): TraceState {
  if (isInterrupted === true) return 'interrupted';
  if (endedAt === undefined) return 'active';
  return error === undefined ? 'completed' : 'failed';
}

/** Returns the attempts of an event, if it has several, or the interrupted ones and the steps of a run. */
function partsOf(event: EventDetails, depth: number, now: number): readonly TraceRow[] {
  const { id, service, attempts, steps = [] } = event;
  const own = JSON.stringify([id, service]);
  const stepRows = steps.map((step, index) => stepRow(step, `${own} ${index}`, depth, now));
  const isPlain = attempts.length < 2 && attempts.every(({ isInterrupted }) => isInterrupted !== true);
  if (isPlain) return stepRows;
  const attemptRows = attempts.map((each, index): TraceRow => {
    const { attempt, startedAt, endedAt, error } = each;
    const state = attemptState(each);
    return {
      key: `${own} attempt ${index}`,
      depth,
      kind: 'attempt',
      name: `Attempt ${attempt}`,
      state,
      bars: [{ from: startedAt, to: endedAt ?? now, tone: toneOf(state) }],
      waitedMs: null,
      // The times of an interrupted attempt are those that are known: it may have ended earlier.
      ranMs: state === 'interrupted' ? null : (endedAt ?? now) - startedAt,
      note: error?.message ?? '',
      event: null,
    };
  });
  return [...attemptRows, ...stepRows];
}

function stepRow(step: StepIntrospection, key: string, depth: number, now: number): TraceRow {
  const path = step.name.split(PATH_SEPARATOR);
  const { state, bars, waitedMs, ranMs } = stepBars(step, now);
  const title = step.error?.message ?? stepTitle(step);
  return {
    key,
    depth: depth + path.length - 1,
    kind: step.kind,
    name: path.at(-1) ?? step.name,
    state,
    bars,
    waitedMs,
    ranMs,
    note: title === '' ? turnFacts(step).join(' · ') : title,
    event: null,
  };
}
