import type { StepStatus, WorkflowIntrospection } from '../../server/dashboard/protocol.js';

/** Summary of a step over the recent runs. */
export interface StepSummary {
  readonly name: string;
  /** Agent that the step runs. */
  readonly agent: string | undefined;
  /** Status of a run that is in the step now, else of the last run that reached it. */
  readonly status: StepStatus;
  /** Number of runs by their status in the step. */
  readonly runs: Readonly<Record<StepStatus, number>>;
}

/** Summarizes the recent runs of a workflow by step. */
export function summarizeSteps({ steps, runs }: WorkflowIntrospection): readonly StepSummary[] {
  return steps.map(({ name, agent }) => {
    // Newest first. A run of an older definition may lack the step.
    const seen = runs.flatMap((run) => run.steps.find((step) => step.name === name)?.status ?? []);
    const counts = { waiting: 0, active: 0, retrying: 0, suspended: 0, completed: 0, failed: 0 };
    for (const status of seen) counts[status]++;
    return { name, agent, status: mostNotable(seen), runs: counts };
  });
}

function mostNotable(newestFirst: readonly StepStatus[]): StepStatus {
  if (newestFirst.includes('active')) return 'active';
  if (newestFirst.includes('retrying')) return 'retrying';
  return newestFirst.find((status) => status !== 'waiting') ?? 'waiting';
}
