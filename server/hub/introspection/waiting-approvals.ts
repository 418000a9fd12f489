import { pathSeparator } from '../runs/engine/replay/run-entry.js';
import type { EventIntrospection, WorkflowIntrospection } from './introspection.js';

/** Number of approvals that an agent waits for: in the events that it handles, and in the listed runs of workflows. */
export function approvalsOfAgent(
  agent: string,
  events: readonly Pick<EventIntrospection, 'metrics' | 'agent'>[],
  workflows: readonly Pick<WorkflowIntrospection, 'runs' | 'steps'>[],
): number {
  const ofEvents = events
    .filter((event) => event.agent?.name === agent)
    .map(({ metrics: { approvals = 0 } }) => approvals);
  const ofWorkflows = workflows.map(({ steps, runs }) => {
    const names = new Set(steps.filter((step) => step.agent === agent).map(({ name }) => name));
    // In the function of a workflow an agent's steps have its name, with an ordinal.
    return waitsOf(runs).filter((name) => {
      const [first = ''] = name.split(pathSeparator);
      return names.has(first) || first.replace(/#\d+$/, '') === agent;
    }).length;
  });
  return [...ofEvents, ...ofWorkflows].reduce((sum, count) => sum + count, 0);
}

function waitsOf(runs: WorkflowIntrospection['runs']): string[] {
  return runs.flatMap(({ steps }) =>
    steps.filter(({ kind, status }) => kind === 'approval' && status === 'waiting').map(({ name }) => name),
  );
}
