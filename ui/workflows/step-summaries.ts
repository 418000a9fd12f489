import type { StepStatus, WorkflowIntrospection } from '../../server/dashboard/protocol.js';

/** What a step is doing in the runs that the hub shows. */
export interface StepView {
  readonly name: string;
  /** The agent that the step runs. */
  readonly agent: string | undefined;
  /** What is most worth knowing: a run that is in the step now, or else how the last one to reach it left it. */
  readonly status: StepStatus;
  /** Runs by where they stand in the step. */
  readonly runs: Readonly<Record<StepStatus, number>>;
}

/** Sums up the runs of a workflow by step. */
export function stepViews({ steps, runs }: WorkflowIntrospection): readonly StepView[] {
  return steps.map(({ name, agent }) => {
    // Newest first. A run of an older definition may not have the step.
    const seen = runs.flatMap((run) => run.steps.find((step) => step.name === name)?.status ?? []);
    const counts = { waiting: 0, active: 0, retrying: 0, completed: 0, failed: 0 };
    for (const status of seen) counts[status]++;
    return { name, agent, status: mostNotable(seen), runs: counts };
  });
}

function mostNotable(newestFirst: readonly StepStatus[]): StepStatus {
  if (newestFirst.includes('active')) return 'active';
  if (newestFirst.includes('retrying')) return 'retrying';
  return newestFirst.find((status) => status !== 'waiting') ?? 'waiting';
}
