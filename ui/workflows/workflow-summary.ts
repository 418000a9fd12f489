import type {
  EventOverview,
  RunIntrospection,
  StepIntrospection,
  StepStatus,
  WorkflowOverview,
} from '../../server/dashboard/protocol.js';

/** Summary of a step over the recent runs. */
export interface StepSummary {
  readonly name: string;
  /** Agent that the step runs. */
  readonly agent: string | undefined;
  /** Status of a run that is in the step now, else of the last run that reached it. */
  readonly status: State;
  /** Number of runs by their status in the step. */
  readonly runs: Readonly<Record<State, number>>;
  /** Median duration of the completed runs; `null` if there are none. */
  readonly medianMs: number | null;
  /** Part of the runs that failed in the step, of those that ended it; `null` if there are none. */
  readonly failureRatio: number | null;
}

const NONE: Readonly<Record<State, number>> = {
  waiting: 0,
  active: 0,
  retrying: 0,
  suspended: 0,
  completed: 0,
  failed: 0,
  cancelled: 0,
};

/** Summarizes the recent runs of a workflow by step. A workflow with a function, which has no list, is one step. */
export function summarizeSteps({ steps, runs }: WorkflowOverview): readonly StepSummary[] {
  if (steps.length === 0) return [summarizeFunction(runs)];
  return steps.map(({ name, agent }) => {
    // A run of an older definition may lack the step.
    const reached = runs.flatMap((run) => run.steps.find((step) => step.name === name) ?? []);
    return summarize(
      name,
      agent,
      reached.map((step) => ({ state: stepState(step), durationMs: step.durationMs })),
    );
  });
}

/** Summarizes the recent runs of a workflow as one step. */
export function summarizeFunction(runs: readonly RunIntrospection[]): StepSummary {
  return summarize(
    'function',
    undefined,
    runs.map(({ status, acceptedAt, endedAt = acceptedAt }) => ({ state: status, durationMs: endedAt - acceptedAt })),
  );
}

/** Summarizes a step by its state in each run, the newest first. */
function summarize(
  name: string,
  agent: string | undefined,
  newestFirst: readonly { readonly state: State; readonly durationMs: number | undefined }[],
): StepSummary {
  const counts = { ...NONE };
  for (const { state } of newestFirst) counts[state]++;
  const ended = counts.completed + counts.failed;
  return {
    name,
    agent,
    status: mostNotable(newestFirst.map(({ state }) => state)),
    runs: counts,
    medianMs: median(newestFirst.flatMap(({ state, durationMs = [] }) => (state === 'completed' ? durationMs : []))),
    failureRatio: ended === 0 ? null : counts.failed / ended,
  };
}

/** Returns the number of steps of each stage, in order. */
export function stagesOf({ steps }: { readonly steps: readonly { readonly stage?: number }[] }): readonly number[] {
  const stages: number[] = [];
  let last: number | undefined;
  for (const { stage } of steps) {
    if (stage !== undefined && stage === last) stages.push((stages.pop() ?? 0) + 1);
    else stages.push(1);
    last = stage;
  }
  return stages.length === 0 ? [1] : stages;
}

function mostNotable(newestFirst: readonly State[]): State {
  const present = (['active', 'retrying', 'suspended'] as const).find((status) => newestFirst.includes(status));
  return present ?? newestFirst.find((status) => status !== 'waiting') ?? 'waiting';
}

function median(values: readonly number[]): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined) return null;
  return sorted.length % 2 === 1 ? middle : (middle + (sorted[sorted.length / 2 - 1] ?? middle)) / 2;
}

/** State of a run or of a step on the page. A suspended step waits for a time, an event or another run. */
export type State = StepStatus | RunIntrospection['status'];

/** Returns the state of a step. A call of a tool of which the model received an error has failed. */
export function stepState({ status, waitsFor, turn }: StepIntrospection): State {
  if (turn?.isToolError === true) return 'failed';
  return status === 'waiting' && waitsFor !== undefined ? 'suspended' : status;
}

/** Event that is emitted when another event or a workflow run ends. */
export interface FollowUp {
  readonly when: 'success' | 'failure' | 'complete';
  readonly type: string;
}

export const WHEN_LABEL: Record<FollowUp['when'], string> = {
  success: 'On success',
  failure: 'On failure',
  complete: 'On complete',
};

/** Returns the follow-up events of an event type or a workflow. */
export function followUpsOf(
  source: Pick<EventOverview, 'onSuccess' | 'onFailure' | 'onComplete'>,
): readonly FollowUp[] {
  const targets: readonly (readonly [FollowUp['when'], string | undefined])[] = [
    ['success', source.onSuccess],
    ['failure', source.onFailure],
    ['complete', source.onComplete],
  ];
  return targets.flatMap(([when, type]) => (type === undefined ? [] : [{ when, type }]));
}
