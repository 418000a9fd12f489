import type { Counts } from '../../server/dashboard/protocol.js';

/** Counters that the page shows in charts. */
export type Tally = Pick<Counts, 'received' | 'completed' | 'failed'>;

/** Counter values at one time. */
export interface Sample extends Tally {
  /** Milliseconds on the page's own monotonic clock. */
  readonly at: number;
  /** True if the counters restarted before this sample. The increase since the previous sample is then unknown. */
  readonly restarted: boolean;
}

/** Samples of the counters, oldest first. The first one is a baseline: it counts events from before the page was opened. */
export type History = readonly Sample[];

/** Increase of the counters in one slice of a history. */
export interface Slice extends Tally {
  readonly at: number;
  /** Part of the slice between known samples; 0 if there are none. */
  readonly coveredMs: number;
}

/** Period of a history. */
export const HISTORY_MS = 300_000;

/** Length of one slice in charts. */
export const SLICE_MS = 5_000;

/** Minimum period that a chart shows. */
const MIN_SHOWN_MS = 30_000;

/** A sample between two others that are at most this far apart is dropped, at any poll interval. */
const RESOLUTION_MS = 5_000;

/** Maximum number of samples in a history: two per resolution interval, and both ends. */
export const MAX_SAMPLES = (2 * HISTORY_MS) / RESOLUTION_MS + 2;

/**
 * Adds a sample in place, because there may be thousands of histories, and returns the increase of each counter since the
 * previous sample. A counter that went down has restarted. With `hubRestarted`, all counters have.
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
  // Retain one sample from before the period: the first increase inside it starts there.
  while (history.length > MAX_SAMPLES || (history[1]?.at ?? at) <= at - HISTORY_MS) history.shift();
  return last === undefined ? NOTHING : increase(last, next);
}

const NOTHING: Tally = { received: 0, completed: 0, failed: 0 };

/** Returns true if `last` adds no detail: it is close to its neighbours, or no counter changed. */
function isRedundant(before: Sample | undefined, last: Sample, next: Sample): boolean {
  if (before === undefined || last.restarted || next.restarted) return false;
  return next.at - before.at <= RESOLUTION_MS || (isSame(before, last) && isSame(last, next));
}

function isSame(a: Tally, b: Tally): boolean {
  return a.received === b.received && a.completed === b.completed && a.failed === b.failed;
}

/** Returns the increase of each counter between two samples. */
function increase(from: Sample, to: Sample): Tally {
  if (to.restarted) return NOTHING;
  return {
    received: to.received - from.received,
    completed: to.completed - from.completed,
    failed: to.failed - from.failed,
  };
}

/** Returns the increase of each counter over a history. */
export function increaseOver(history: History): Tally {
  const total = { received: 0, completed: 0, failed: 0 };
  for (const [from, to] of steps(history)) {
    const step = increase(from, to);
    total.received += step.received;
    total.completed += step.completed;
    total.failed += step.failed;
  }
  return total;
}

/** Period of a rate, unless polls are further apart. */
const RATE_SPAN_MS = 10_000;

/** Minimum period of a rate. Over less time, chance dominates. */
const MIN_RATE_SPAN_MS = 900;

/**
 * Returns events received per second, over the last 10 seconds or over the last poll interval if it is longer; `null` if
 * the samples since the counters started cover too little time.
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
 * Divides a history into `count` slices of `sliceMs`, the last of which contains the time `until`. An increase that spans
 * several slices is spread evenly, so that a chart looks the same at every poll interval.
 */
export function sliceHistory(history: History, until: number, sliceMs: number, count: number): readonly Slice[] {
  const start = (Math.floor(until / sliceMs) + 1 - count) * sliceMs;
  const result = Array.from({ length: count }, (_, index) => ({
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
      const slice = result[index];
      if (slice === undefined || slice.at >= to.at) break;
      const overlapMs = Math.min(to.at, slice.at + sliceMs) - Math.max(from.at, slice.at);
      const share = overlapMs / (to.at - from.at);
      slice.coveredMs += overlapMs;
      slice.received += step.received * share;
      slice.completed += step.completed * share;
      slice.failed += step.failed * share;
    }
  }
  return result;
}

/** Returns the last 5 minutes in slices of 5 seconds. A younger history gets fewer slices, at least 30 seconds of them. */
export function recentSlices(history: History, until: number): readonly Slice[] {
  const seenMs = until - (history[0]?.at ?? until);
  const count = Math.ceil(Math.min(HISTORY_MS, Math.max(MIN_SHOWN_MS, seenMs)) / SLICE_MS);
  return sliceHistory(history, until, SLICE_MS, count);
}

/** Returns the time of the last restart in a history. */
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
