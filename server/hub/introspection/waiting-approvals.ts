import type { Redactor } from '../../redaction/redactor.js';
import type { RunRecord, TransportManager } from '../../transports/transport.js';
import { workflowType } from '../../transports/workflow-type.js';
import { pathSeparator } from '../runs/engine/replay/run-entry.js';
import { introspectRun } from '../runs/run-introspection.js';
import type { EventIntrospection, WorkflowIntrospection } from './introspection.js';

/** Maximum number of runs per workflow that are read to find the agents that wait in them. */
const maxReadRuns = 1_000;

type CountedEvent = Pick<EventIntrospection, 'metrics' | 'agent'>;
type CountedWorkflow = Pick<WorkflowIntrospection, 'name' | 'metrics' | 'steps'>;

/**
 * Returns the number of open approvals per agent: of the events that it handles, and of its steps in workflows. Reads
 * the waiting runs of a workflow only if several agents may wait in them.
 */
export async function readWaitingApprovals(
  transport: Pick<TransportManager, 'waiting'>,
  events: readonly CountedEvent[],
  workflows: readonly CountedWorkflow[],
  redactor: Redactor,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  const add = (agent: string, count: number): void => {
    counts.set(agent, (counts.get(agent) ?? 0) + count);
  };
  for (const { agent, metrics } of events) if (agent !== undefined) add(agent.name, metrics.approvals ?? 0);
  const shared: CountedWorkflow[] = [];
  for (const workflow of workflows.filter(({ metrics: { approvals = 0 } }) => approvals > 0)) {
    const agents = new Set(workflow.steps.flatMap(({ agent }) => agent ?? []));
    const [only] = agents;
    const isListed = workflow.steps.length > 0 && workflow.steps.every(({ kind }) => kind === 'agent');
    if (isListed && agents.size === 1 && only !== undefined) add(only, workflow.metrics.approvals ?? 0);
    else shared.push(workflow);
  }
  if (shared.length === 0) return counts;
  const limit = Math.min(maxReadRuns, Math.max(...shared.map(({ metrics }) => metrics.approvals ?? 0)));
  const runs = await transport.waiting(
    shared.map(({ name }) => workflowType(name)),
    limit,
  );
  for (const [index, { steps }] of shared.entries()) {
    const agentOf = new Map(steps.flatMap(({ name, agent }) => (agent === undefined ? [] : [[name, agent]])));
    for (const path of (runs[index] ?? []).flatMap((run) => openApprovals(run, redactor))) {
      const [first = ''] = path.split(pathSeparator);
      add(agentOf.get(first) ?? agentOfPath(first), 1);
    }
  }
  return counts;
}

/** Returns the agent whose steps have a path: in the function of a workflow, its escaped name with an ordinal. */
function agentOfPath(first: string): string {
  return first.replace(/#\d+$/, '').replaceAll('%2F', '/');
}

/** Returns the names of the steps of a run that wait for an approval. */
function openApprovals(run: RunRecord, redactor: Redactor): string[] {
  const { steps } = introspectRun([], run, redactor);
  return steps.filter(({ kind, waitsFor }) => kind === 'approval' && waitsFor !== undefined).map(({ name }) => name);
}
