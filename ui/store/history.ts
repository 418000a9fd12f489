import type { Counts } from '../../server/dashboard/protocol.js';

/** The counters that the page draws over time. */
export type Tally = Pick<Counts, 'received' | 'completed' | 'failed'>;

/** Counters as they stood at one time. */
export interface Sample extends Tally {
  /** Milliseconds on the page's own monotonic clock. */
  readonly at: number;
  /** Counting began anew before this sample, so the step from the one before it is unknown. */
  readonly restarted: boolean;
}

/** Samples of one counter, oldest first. The first is a baseline: what it counts happened before the page looked. */
export type History = readonly Sample[];

/** What happened in one slice of a history. */
export interface Slice extends Tally {
  readonly at: number;
  /** How much of the slice lies between known samples; 0 where nothing is known. */
  readonly coveredMs: number;
}

/** How far back a history goes. */
export const HISTORY_MS = 300_000;

/** How finely a history is drawn. */
export const SLICE_MS = 5_000;

/** The least that a drawing shows. */
const MIN_SHOWN_MS = 30_000;

/** A sample between two that are no further apart than this is left out, whatever the poll interval. */
const RESOLUTION_MS = 5_000;

/** No history holds more: two samples in every stretch of the resolution, and the two ends. */
export const MAX_SAMPLES = (2 * HISTORY_MS) / RESOLUTION_MS + 2;

/**
 * Adds a sample in place, for there may be thousands of histories, and returns what was counted since the last one.
 * A counter that went down began anew, and so did all where `hubRestarted`.
 */
export function addSample(history: Sample[], at: number, tally: Tally, hubRestarted: boolean): Tally {
  const { received, completed, failed } = tally;
  const last = history.at(-1);
  const restarted =
    last !== undefined &&
    (hubRestarted || received < last.received || completed < last.completed || failed < last.failed);
  const next = { at, received, completed, failed, restarted };
  if (last !== undefined && (last.at === at || isRedundant(history.at(-2), last, next))) history.pop();
  history.push(next);
  // One sample from before the span is kept: the first step inside it starts there.
  while (history.length > MAX_SAMPLES || (history[1]?.at ?? at) <= at - HISTORY_MS) history.shift();
  return last === undefined ? NOTHING : increase(last, next);
}

const NOTHING: Tally = { received: 0, completed: 0, failed: 0 };

/** Whether `last` says little that its neighbours don't: all three are close, or counters stood still. */
function isRedundant(before: Sample | undefined, last: Sample, next: Sample): boolean {
  if (before === undefined || last.restarted || next.restarted) return false;
  return next.at - before.at <= RESOLUTION_MS || (isSame(before, last) && isSame(last, next));
}

function isSame(a: Tally, b: Tally): boolean {
  return a.received === b.received && a.completed === b.completed && a.failed === b.failed;
}

/** How much each counter rose from one sample to the next. */
function increase(from: Sample, to: Sample): Tally {
  if (to.restarted) return NOTHING;
  return {
    received: to.received - from.received,
    completed: to.completed - from.completed,
    failed: to.failed - from.failed,
  };
}

/** What was counted over a history. */
export function counted(history: History): Tally {
  const total = { received: 0, completed: 0, failed: 0 };
  for (const [from, to] of steps(history)) {
    const step = increase(from, to);
    total.received += step.received;
    total.completed += step.completed;
    total.failed += step.failed;
  }
  return total;
}

/** What a rate is taken over, where polls are no further apart. */
const RATE_SPAN_MS = 10_000;

/** A rate over less time than this says more about chance than about the hub. */
const MIN_RATE_SPAN_MS = 900;

/**
 * Events received a second, over the last 10 seconds or the last step where that is longer; `null` while too little is
 * known since counting began.
 */
export function ratePerSecond(history: History): number | null {
  const last = history.at(-1);
  if (last === undefined || last.restarted) return null;
  let from: Sample | undefined;
  for (let index = history.length - 2; index >= 0; index--) {
    from = history[index];
    if (from === undefined || from.restarted || from.at <= last.at - RATE_SPAN_MS) break;
  }
  if (from === undefined || last.at - from.at < MIN_RATE_SPAN_MS) return null;
  return ((last.received - from.received) / (last.at - from.at)) * 1_000;
}

/**
 * Cuts a history into `count` slices of `sliceMs`, the last of which holds the time `until`. A step that reaches over
 * several slices is spread evenly, so that the picture is the same at every poll interval.
 */
export function slices(history: History, until: number, sliceMs: number, count: number): readonly Slice[] {
  const start = (Math.floor(until / sliceMs) + 1 - count) * sliceMs;
  const cut = Array.from({ length: count }, (_, index) => ({
    at: start + index * sliceMs,
    coveredMs: 0,
    received: 0,
    completed: 0,
    failed: 0,
  }));
  for (const [from, to] of steps(history)) {
    if (to.restarted) continue;
    const step = increase(from, to);
    const first = Math.max(0, Math.floor((from.at - start) / sliceMs));
    for (let index = first; index < count; index++) {
      const slice = cut[index];
      if (slice === undefined || slice.at >= to.at) break;
      const overlapMs = Math.min(to.at, slice.at + sliceMs) - Math.max(from.at, slice.at);
      const share = overlapMs / (to.at - from.at);
      slice.coveredMs += overlapMs;
      slice.received += step.received * share;
      slice.completed += step.completed * share;
      slice.failed += step.failed * share;
    }
  }
  return cut;
}

/** The last minutes in slices of 5 seconds; of a history that has just begun, as much as is known and no less than 30 seconds. */
export function seenSlices(history: History, until: number): readonly Slice[] {
  const seenMs = until - (history[0]?.at ?? until);
  const count = Math.ceil(Math.min(HISTORY_MS, Math.max(MIN_SHOWN_MS, seenMs)) / SLICE_MS);
  return slices(history, until, SLICE_MS, count);
}

/** The time of the last restart that the history still shows. */
export function lastRestart(history: History): number | undefined {
  return history.findLast((sample) => sample.restarted)?.at;
}

function* steps(history: History): Generator<[Sample, Sample]> {
  let from: Sample | undefined;
  for (const to of history) {
    if (from !== undefined) yield [from, to];
    from = to;
  }
}
