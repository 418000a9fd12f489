import type { StepIntrospection } from '../../server/dashboard/protocol.js';
import type { Bar, TraceState } from './trace-bar.js';

/** Kinds of steps that run no code. */
const WAITING_KINDS: readonly string[] = ['sleep', 'event', 'invoke', 'approval'];

/** State, bars and times of a step. */
export interface StepTimes {
  readonly state: TraceState;
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
  const state = stateOf(step);
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
  bars.push({
    from: lastFrom,
    to,
    tone: state === 'failed' ? 'failed' : state === 'completed' ? 'completed' : 'running',
  });
  return { state, bars, waitedMs: lastFrom > startedAt ? lastFrom - startedAt : null, ranMs: to - lastFrom };
}

/** Returns the state of a step. A call of a tool of which the model received an error has failed. */
function stateOf({ status, waitsFor, turn }: StepIntrospection): TraceState {
  if (turn?.isToolError === true) return 'failed';
  return status === 'waiting' && waitsFor !== undefined ? 'suspended' : status;
}

function isOver(state: TraceState): boolean {
  return state === 'completed' || state === 'failed' || state === 'cancelled';
}

/** Returns what a step waits for, or waited for when its run ended; empty if it does not wait. */
export function stepTitle({ status, waitsFor }: StepIntrospection): string {
  if (waitsFor === undefined) return '';
  const { event, runId, dueAt } = waitsFor;
  const target = event?.type ?? (runId === undefined ? dueAt && 'its time' : `run ${runId.slice(0, 8)}`);
  return `${status === 'cancelled' ? 'waited' : 'waits'}${target === undefined ? '' : ` for ${target}`}`;
}
