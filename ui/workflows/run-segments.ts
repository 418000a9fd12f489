import type { RunIntrospection } from '../../server/dashboard/protocol.js';
import { type State, stepState } from './step-state.js';

/** Part of a run that one step took. */
export interface RunSegment {
  /** Identity of the step in its run. */
  readonly key: string;
  readonly name: string;
  readonly status: State;
  /** Duration; of an unfinished step the time since the last finished one. */
  readonly durationMs: number;
}

/**
 * Returns the steps that a run has reached, with their durations. The step in which the run is or failed has the time that
 * the others leave.
 *
 * @param now current time in epoch milliseconds on the server's clock
 */
export function runSegments({ steps, acceptedAt, endedAt }: RunIntrospection, now: number): readonly RunSegment[] {
  const totalMs = Math.max(0, (endedAt ?? now) - acceptedAt);
  const knownMs = steps.reduce((sum, { durationMs = 0 }) => sum + durationMs, 0);
  return steps.flatMap((step) => {
    const { kind, name, durationMs } = step;
    const status = stepState(step);
    if (status === 'waiting' && durationMs === undefined) return [];
    return { key: `${kind} ${name}`, name, status, durationMs: durationMs ?? Math.max(0, totalMs - knownMs) };
  });
}

/** Sorts runs: failed ones first, then as they are. */
export function failedFirst(runs: readonly RunIntrospection[]): readonly RunIntrospection[] {
  const isFailed = ({ status }: RunIntrospection): boolean => status === 'failed';
  return [...runs.filter(isFailed), ...runs.filter((run) => !isFailed(run))];
}
