import type { StepIntrospection } from '../../server/dashboard/protocol.js';
import { type State, stepState } from './workflow-summary.js';

/** Time in epoch milliseconds. */
export interface TimeSpan {
  readonly from: number;
  readonly to: number;
}

/** Part of a time axis. */
export interface Bar extends TimeSpan {
  readonly tone: 'waiting' | 'active' | 'completed' | 'failed' | 'cancelled' | 'interrupted';
}

/** Returns true for a part in which something runs. */
export function isBusy({ tone }: Bar): boolean {
  return tone !== 'waiting' && tone !== 'cancelled';
}

/** Returns the periods that others cover, in order and more than a gap apart from each other. */
export function joinPeriods(periods: readonly TimeSpan[], gapMs: number = 0): readonly TimeSpan[] {
  const joined: { from: number; to: number }[] = [];
  for (const { from, to } of [...periods].sort((a, b) => a.from - b.from)) {
    const last = joined.at(-1);
    if (last !== undefined && from <= last.to + gapMs) last.to = Math.max(last.to, to);
    else joined.push({ from, to });
  }
  return joined;
}

/** Returns the parts of a span that periods, which are in order, leave. */
export function gapsIn(span: TimeSpan, periods: readonly TimeSpan[]): readonly TimeSpan[] {
  const gaps: TimeSpan[] = [];
  let at = span.from;
  for (const { from, to } of [...periods, { from: span.to, to: span.to }]) {
    const end = Math.min(from, span.to);
    if (end > at) gaps.push({ from: at, to: end });
    at = Math.max(at, to);
  }
  return gaps;
}

/** Returns the time that bars cover, of at least one millisecond. */
export function spanOf(rows: readonly { readonly bars: readonly TimeSpan[] }[]): TimeSpan {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { bars } of rows) {
    for (const bar of bars) {
      from = Math.min(from, bar.from);
      to = Math.max(to, bar.to);
    }
  }
  return { from, to: Math.max(to, from + 1) };
}

/** Kinds of steps that run no code. */
export const WAITING_KINDS: readonly string[] = ['sleep', 'event', 'invoke', 'approval'];

/** State, bars and times of a step. */
export interface StepTimes {
  readonly state: State;
  readonly bars: readonly Bar[];
  readonly waitedMs: number | null;
  readonly ranMs: number | null;
}

/**
 * Returns the bars of a step. A step has no bar before its first attempt.
 *
 * @param now current time in epoch milliseconds on the server's clock
 */
export function stepBars(step: StepIntrospection, now: number): StepTimes {
  const { kind, durationMs, endedAt, waitsFor } = step;
  const state = stepState(step);
  const startedAt =
    step.startedAt ?? waitsFor?.since ?? (endedAt === undefined ? undefined : endedAt - (durationMs ?? 0));
  if (startedAt === undefined) return { state, bars: [], waitedMs: null, ranMs: null };
  const to = endedAt ?? (isOver(state) ? startedAt + (durationMs ?? 0) : now);
  const ms = Math.max(0, to - startedAt);
  if (WAITING_KINDS.includes(kind)) {
    const tone = state === 'failed' || state === 'cancelled' ? state : 'waiting';
    return { state, bars: [{ from: startedAt, to, tone }], waitedMs: ms, ranMs: null };
  }
  const bars: Bar[] = [];
  // Earlier attempts are not retained: the last one has its duration at the end.
  const lastFrom = durationMs === undefined ? startedAt : Math.max(startedAt, to - durationMs);
  if (lastFrom > startedAt) bars.push({ from: startedAt, to: lastFrom, tone: 'waiting' });
  bars.push({ from: lastFrom, to, tone: state === 'failed' || state === 'completed' ? state : 'active' });
  // The step waits for its next attempt.
  if (state === 'retrying') bars.push({ from: to, to: now, tone: 'waiting' });
  return { state, bars, waitedMs: lastFrom - startedAt || null, ranMs: to - lastFrom };
}

/** Returns true for the state of what has ended. */
export function isOver(state: string): boolean {
  return ['completed', 'filtered', 'failed', 'cancelled'].includes(state);
}
