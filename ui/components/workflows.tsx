import type { JSX } from 'preact';
import type { Monitor } from '../state/monitor.js';
import type { Navigation } from '../state/navigation.js';
import { viewPath } from '../state/route.js';
import { EmptyState } from './empty-state.js';
import { TableSkeleton } from './table-skeleton.js';
import { WorkflowCard } from './workflow-card.js';

export interface WorkflowsProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

/** All workflows, or the one that is open. */
export function Workflows({ monitor, navigation }: WorkflowsProps): JSX.Element {
  const { name } = navigation.route.value;
  const query = navigation.query.value;
  return (
    <section class="view" aria-labelledby="workflows-title">
      <div class="view-head">
        <h2 id="workflows-title" class="section-title" tabIndex={-1}>
          Workflows
        </h2>
        {name !== null && <a href={viewPath('workflows') + query}>All workflows</a>}
      </div>
      <WorkflowsBody monitor={monitor} name={name} query={query} />
    </section>
  );
}

interface WorkflowsBodyProps {
  readonly monitor: Monitor;
  readonly name: string | null;
  readonly query: string;
}

function WorkflowsBody({ monitor, name, query }: WorkflowsBodyProps): JSX.Element {
  const { store } = monitor;
  const workflows = store.workflows.value;
  if (store.hub.value === null) return <TableSkeleton />;
  if (workflows.length === 0) {
    return (
      <EmptyState title="No workflows yet">
        <p>
          Register one with <code>hub.workflow</code> and it appears here.
        </p>
      </EmptyState>
    );
  }
  const shown = name === null ? workflows : workflows.filter((workflow) => workflow.name === name);
  if (shown.length === 0) {
    return (
      <EmptyState title="No such workflow">
        <p>No workflow of this name is registered on this hub.</p>
      </EmptyState>
    );
  }
  return (
    <>
      {shown.map((workflow) => (
        <WorkflowCard
          key={workflow.name}
          workflow={workflow}
          isOpen={workflow.name === name}
          monitor={monitor}
          query={query}
        />
      ))}
    </>
  );
}
