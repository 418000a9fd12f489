import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { WorkflowOverview } from '../../server/dashboard/protocol.js';
import { TypeActions } from '../actions/subject-actions.js';
import { releaseMarks } from '../charts/release-marks.js';
import { counted } from '../format/number.js';
import { CountStats } from '../shared/counts.js';
import { Icon } from '../shared/icon.js';
import { Failure, ViewSection } from '../shared/view-section.js';
import type { Monitor } from '../state/monitor.js';
import { type Navigation, viewPath } from '../state/navigation.js';
import { describeProblem, problemKey } from '../state/problems.js';
import { OpenWorkflow } from './open-workflow.js';
import { failedFirst, RunList } from './run-list.js';
import { listedSteps, reachedStages, reachedSteps, WorkflowGraph } from './workflow-graph.js';
import { stagesOf } from './workflow-summary.js';

export interface WorkflowsProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

/** View of all workflows, first those with problems, or of the open one. */
export function Workflows({ monitor, navigation }: WorkflowsProps): JSX.Element {
  const { name } = navigation.route.value;
  const query = navigation.query.value;
  const workflows = monitor.store.workflows.value;
  // The order stays while the view is open.
  const troubled = useMemo(
    () => new Set(monitor.store.health.value?.problems.map((problem) => problem.workflow)),
    [workflows.length],
  );
  const isLong = useMemo(() => workflows.length > MAX_WHOLE, [workflows.length > 0]);
  const rankOf = (workflow: WorkflowOverview): number => (troubled.has(workflow.name) ? 0 : 1);
  const shown =
    name === null
      ? [...workflows].sort((a, b) => rankOf(a) - rankOf(b))
      : workflows.filter((workflow) => workflow.name === name);
  return (
    <ViewSection
      view="workflows"
      store={monitor.store}
      aside={name !== null && <a href={viewPath('workflows') + query}>All workflows</a>}
      isEmpty={workflows.length === 0}
      unknown={shown.length === 0 ? name : null}
      hint={
        <>
          Register one with <code>hub.workflow</code>, and it appears here.
        </>
      }
    >
      {shown.map((workflow) => (
        <WorkflowCard
          key={workflow.name}
          workflow={workflow}
          isOpen={workflow.name === name}
          isFolded={name === null && isLong && rankOf(workflow) > 0}
          monitor={monitor}
          query={query}
        />
      ))}
    </ViewSection>
  );
}

/** Number of workflows above which those without problems are shown without their steps and runs. */
const MAX_WHOLE = 3;

/** Number of runs on the card of a workflow that is not open. */
const RUNS_SHOWN = 5;

export interface WorkflowCardProps {
  readonly workflow: WorkflowOverview;
  /** True if the card shows everything that is known of the workflow. */
  readonly isOpen: boolean;
  /** True if it shows neither steps nor runs. */
  readonly isFolded: boolean;
  readonly monitor: Monitor;
  /** Query that links retain. */
  readonly query: string;
}

/** Card of a workflow with its counts, graph and recent runs. */
function WorkflowCard({ workflow, isOpen, isFolded, monitor, query }: WorkflowCardProps): JSX.Element {
  const { name, description, concurrencyPerKey, metrics } = workflow;
  const href = viewPath('workflows', name) + query;
  const releases = releaseMarks(monitor.store.releases.value);
  const loaded = monitor.workflowRuns.value;
  const data = isOpen && loaded?.key === name ? loaded : null;
  return (
    <article class="card workflow" aria-label={name}>
      <div class="workflow-head">
        <h3 class="workflow-name">
          {isOpen ? (
            <bdi>{name}</bdi>
          ) : (
            <a href={href}>
              <bdi>{name}</bdi>
            </a>
          )}
        </h3>
        {description && <p class="muted">{description}</p>}
        {concurrencyPerKey !== undefined && (
          <p class="muted">At most {counted(concurrencyPerKey, 'run')} per key at a time</p>
        )}
      </div>
      {monitor.store.health.value?.problems
        .filter((problem) => problem.workflow === name)
        .map((problem) => {
          const { icon, tone, fact, details } = describeProblem(problem, monitor.serverNow.value, releases);
          return (
            <p key={problemKey(problem)} class={`panel-status is-${tone}`}>
              <Icon name={icon} />
              {[fact, ...details].join(' · ')}
            </p>
          );
        })}
      <TypeActions
        kind="workflow"
        name={name}
        deadLetters={metrics.deadLetters}
        recent={workflow.recent}
        paused={workflow.paused}
      />
      <h4 class="workflow-period">
        Runs <span class="panel-period">since start</span>
      </h4>
      <dl class="stats workflow-stats">
        <CountStats counters={['received', 'completed', 'failed', 'pending', 'retried']} counts={metrics} />
      </dl>
      {data?.error && <Failure message={data.error.message} />}
      {data?.body ? (
        <OpenWorkflow workflow={workflow} body={data.body} monitor={monitor} query={query} />
      ) : (
        !isFolded && <RecentRuns workflow={workflow} monitor={monitor} query={query} />
      )}
    </article>
  );
}

/** Steps and the latest runs of a workflow that is not open, or whose runs are not loaded yet. */
function RecentRuns({ workflow, monitor, query }: Omit<WorkflowCardProps, 'isOpen' | 'isFolded'>): JSX.Element {
  const { name, steps, runs, reached = [] } = workflow;
  const shown = failedFirst(runs).slice(0, RUNS_SHOWN);
  const last = runs.length === 1 ? 'last run' : `last ${runs.length} runs`;
  return (
    <>
      <h4 class="workflow-period">
        Steps <span class="panel-period">{runs.length === 0 ? 'no run yet' : `times and counts of the ${last}`}</span>
      </h4>
      <WorkflowGraph
        workflow={workflow}
        steps={reached.length === 0 ? listedSteps(workflow, query) : reachedSteps(reached, null)}
        stages={reached.length === 0 ? stagesOf(workflow) : reachedStages(reached)}
        query={query}
      />
      <div class="workflow-runs">
        <h4>
          Recent runs <span class="panel-period">failed first · bars show shares of step time</span>
        </h4>
        {runs.length === 0 ? (
          <p class="muted">None yet.</p>
        ) : (
          <RunList runs={shown} serverNow={monitor.serverNow.value} query={query} />
        )}
        {runs.length > 0 && (
          <a href={viewPath('workflows', name) + query}>
            {steps.length === 0 ? 'All steps and runs' : 'All runs'}
            <span class="visually-hidden"> of {name}</span>
          </a>
        )}
      </div>
    </>
  );
}
