import type { JSX } from 'preact';
import type { Monitor } from '../polling/monitor.js';
import type { Navigation } from '../routing/navigation.js';
import { viewPath } from '../routing/route.js';
import { EmptyState } from '../shared/views/empty-state.js';
import { ViewSection } from '../shared/views/view-section.js';
import { WorkflowCard } from './workflow-card.js';

export interface WorkflowsProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

/** View of all workflows or of the open one. */
export function Workflows({ monitor, navigation }: WorkflowsProps): JSX.Element {
  const { name } = navigation.route.value;
  const query = navigation.query.value;
  const workflows = monitor.store.workflows.value;
  const shown = name === null ? workflows : workflows.filter((workflow) => workflow.name === name);
  return (
    <ViewSection
      view="workflows"
      store={monitor.store}
      aside={name !== null && <a href={viewPath('workflows') + query}>All workflows</a>}
      isEmpty={workflows.length === 0}
      hint={
        <>
          Register one with <code>hub.workflow</code>, and it appears here.
        </>
      }
    >
      {shown.length === 0 && (
        <EmptyState title="Unknown workflow">
          <p>No workflow with this name is registered on this hub.</p>
        </EmptyState>
      )}
      {shown.map((workflow) => (
        <WorkflowCard
          key={workflow.name}
          workflow={workflow}
          isOpen={workflow.name === name}
          monitor={monitor}
          query={query}
        />
      ))}
    </ViewSection>
  );
}
