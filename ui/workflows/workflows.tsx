import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { WorkflowOverview } from '../../server/dashboard/protocol.js';
import { TypeActions } from '../actions/subject-actions.js';
import type { WorkflowRuns } from '../api/decode-views.js';
import { releaseMarks } from '../charts/release-marks.js';
import { formatDuration } from '../format/duration.js';
import { counted, formatPercent, UNKNOWN } from '../format/number.js';
import { Count, CountStats } from '../shared/counts.js';
import { Icon } from '../shared/icon.js';
import { TypeLink } from '../shared/links.js';
import { StateLabel } from '../shared/states.js';
import { Ago } from '../shared/times.js';
import { TrendChart } from '../shared/trend-chart.js';
import { Failure, ViewSection } from '../shared/view-section.js';
import { ViewTable, ViewTableCell, ViewTableNote } from '../shared/view-table.js';
import type { Monitor } from '../state/monitor.js';
import { type Navigation, viewPath } from '../state/navigation.js';
import { describeProblem, problemKey } from '../state/problems.js';
import { failureRatio, trendOf } from '../state/recent-activity.js';
import { OpenWorkflow } from './open-workflow.js';
import { summarizeFunction } from './workflow-summary.js';

export interface WorkflowsProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

/** View of all workflows, first those with problems, or of the open one. */
export function Workflows({ monitor, navigation }: WorkflowsProps): JSX.Element {
  const query = navigation.query.value;
  const workflows = monitor.store.workflows.value;
  const { name } = navigation.route.value;
  // The order stays while the view is open.
  const troubled = useMemo(
    () => new Set(monitor.store.health.value?.problems.map((problem) => problem.workflow)),
    [workflows.length],
  );
  const rankOf = (workflow: WorkflowOverview): number => (troubled.has(workflow.name) ? 0 : 1);
  const open = workflows.find((workflow) => workflow.name === name);
  return (
    <ViewSection
      view="workflows"
      store={monitor.store}
      aside={name !== null && <a href={viewPath('workflows') + query}>All workflows</a>}
      isEmpty={workflows.length === 0}
      unknown={open === undefined ? name : null}
      hint={
        <>
          Register one with <code>hub.workflow</code>, and it appears here.
        </>
      }
    >
      {open !== undefined ? (
        <WorkflowCard key={open.name} workflow={open} monitor={monitor} query={query} />
      ) : (
        <ViewTable caption="Workflows" columns={COLUMNS} class="workflows-table">
          {[...workflows]
            .sort((a, b) => rankOf(a) - rankOf(b))
            .map((workflow) => (
              <WorkflowRow key={workflow.name} workflow={workflow} monitor={monitor} query={query} />
            ))}
        </ViewTable>
      )}
    </ViewSection>
  );
}

const COLUMNS = [
  'Workflow',
  'Last run',
  'Trend, 20 min',
  'Waiting, now',
  'Running, now',
  'Failed, 5 min',
  'p50, 10 runs',
] as const;

interface WorkflowProps {
  readonly workflow: WorkflowOverview;
  readonly monitor: Monitor;
  /** Query that links retain. */
  readonly query: string;
}

function WorkflowRow({ workflow, monitor, query }: WorkflowProps): JSX.Element {
  const { name, description, metrics, recent, runs } = workflow;
  const [last] = runs;
  const { pending, active = 0 } = metrics;
  const counts = recent?.last5Min;
  const failed = counts === undefined ? 0 : counts.failed - counts.cancelled;
  return (
    <tr>
      <th scope="row">
        <TypeLink class="view-table-name" kind="workflow" type={name} query={query} />
        {description && <ViewTableNote>{description}</ViewTableNote>}
        <Problems workflow={workflow} monitor={monitor} />
      </th>
      <ViewTableCell label="Last run">
        {last === undefined ? (
          UNKNOWN
        ) : (
          <>
            <StateLabel state={last.status} />
            <ViewTableNote>
              <Ago at={last.acceptedAt} now={monitor.serverNow.value} />
            </ViewTableNote>
          </>
        )}
      </ViewTableCell>
      <ViewTableCell label="Trend, 20 min">{recent && <TrendChart trend={trendOf(recent.minutes)} />}</ViewTableCell>
      <ViewTableCell label="Waiting, now">
        <Count value={pending - active} />
      </ViewTableCell>
      <ViewTableCell label="Running, now">
        <Count value={active} />
      </ViewTableCell>
      <ViewTableCell label="Failed, 5 min" isFailed={failed > 0}>
        {counts === undefined ? UNKNOWN : <Count value={failed} />}
        {counts !== undefined && failed > 0 && <ViewTableNote>{formatPercent(failureRatio(counts))}</ViewTableNote>}
      </ViewTableCell>
      <ViewTableCell label="p50, 10 runs">{formatDuration(summarizeFunction(runs).medianMs)}</ViewTableCell>
    </tr>
  );
}

/** Lines that say what is wrong with a workflow. */
function Problems({ workflow, monitor }: Omit<WorkflowProps, 'query'>): JSX.Element {
  const { health, releases } = monitor.store;
  const problems = health.value?.problems.filter((problem) => problem.workflow === workflow.name) ?? [];
  return (
    <>
      {problems.map((problem) => {
        const { icon, tone, fact, details } = describeProblem(
          problem,
          monitor.serverNow.value,
          releaseMarks(releases.value),
        );
        return (
          <p key={problemKey(problem)} class={`panel-status is-${tone}`}>
            <Icon name={icon} />
            {[fact, ...details].join(' · ')}
          </p>
        );
      })}
    </>
  );
}

/** Card of a workflow with its counts, graph and runs. */
function WorkflowCard({ workflow, monitor, query }: WorkflowProps): JSX.Element {
  const { name, description, concurrencyPerKey, metrics } = workflow;
  const loaded = monitor.workflowRuns.value;
  const data = loaded?.key === name ? loaded : null;
  return (
    <article class="card workflow" aria-label={name}>
      <div class="workflow-head">
        <h3 class="workflow-name">
          <bdi>{name}</bdi>
        </h3>
        {description && <p class="muted">{description}</p>}
        {concurrencyPerKey !== undefined && (
          <p class="muted">At most {counted(concurrencyPerKey, 'run')} per key at a time</p>
        )}
      </div>
      <Problems workflow={workflow} monitor={monitor} />
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
      <OpenWorkflow workflow={workflow} body={data?.body ?? latestRuns(workflow)} monitor={monitor} query={query} />
    </article>
  );
}

/** Returns the runs of a workflow that the counts have, as of no time: until all are loaded, or in a snapshot. */
function latestRuns({ name, runs, reached = [] }: WorkflowOverview): WorkflowRuns {
  const failed = runs.filter(({ status }) => status === 'failed').length;
  return {
    now: 0,
    workflow: name,
    runs: runs.map((run) => ({ ...run, at: [] })),
    waiting: [],
    steps: reached,
    read: { newest: runs.length, failed, waiting: 0 },
  };
}
