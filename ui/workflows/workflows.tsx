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
import { failureLevel } from '../state/event-row.js';
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
  'Trend, 20 min',
  'Started, 5 min',
  'Failed, 5 min',
  'Failure rate, 5 min',
  'Waiting, now',
  'Suspended, now',
  'Running, now',
  'p50, 10 runs',
  'Last run',
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
  const { pending, suspended, active } = metrics;
  const counts = recent?.last5Min;
  const failed = counts && counts.failed - counts.cancelled;
  const isFailing = !!failed;
  const ratio = counts ? failureRatio(counts) : null;
  return (
    <tr>
      <th scope="row">
        <TypeLink class="view-table-name" kind="workflow" type={name} query={query} />
        {isFailing && ' '}
        {isFailing && (
          <span class={`status is-failing is-${failureLevel(ratio)}`}>
            <Icon name="triangle" />
            Failing
          </span>
        )}
        {description && <ViewTableNote>{description}</ViewTableNote>}
        <Problems workflow={workflow} monitor={monitor} />
      </th>
      <ViewTableCell label="Trend, 20 min">{recent && <TrendChart trend={trendOf(recent.minutes)} />}</ViewTableCell>
      <ViewTableCell label="Started, 5 min">
        <Count value={counts?.received} />
      </ViewTableCell>
      <ViewTableCell label="Failed, 5 min" isFailed={isFailing}>
        <Count value={failed} />
      </ViewTableCell>
      <ViewTableCell label="Failure rate, 5 min" isFailed={isFailing}>
        <span data-any={isFailing}>{formatPercent(ratio)}</span>
      </ViewTableCell>
      <ViewTableCell label="Waiting, now">
        <Count value={Math.max(0, pending - suspended - active)} />
      </ViewTableCell>
      <ViewTableCell label="Suspended, now">
        <Count value={suspended} />
      </ViewTableCell>
      <ViewTableCell label="Running, now">
        <Count value={active} />
      </ViewTableCell>
      <ViewTableCell label="p50, 10 runs">{formatDuration(summarizeFunction(runs).medianMs)}</ViewTableCell>
      <ViewTableCell label="Last run">
        {last === undefined ? (
          UNKNOWN
        ) : (
          <>
            <StateLabel state={last.status} />{' '}
            <span class="muted">
              <Ago at={last.acceptedAt} now={monitor.serverNow.value} />
            </span>
          </>
        )}
      </ViewTableCell>
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
        <h3 class="section-title">
          <bdi>{name}</bdi>
        </h3>
        {description && <p class="muted">{description}</p>}
        {concurrencyPerKey !== undefined && (
          <p class="muted">At most {counted(concurrencyPerKey, 'run')} per key at a time</p>
        )}
      </div>
      <Problems workflow={workflow} monitor={monitor} />
      <div class="workflow-stats">
        <h4>
          Runs <span class="panel-period">since start</span>
        </h4>
        <dl class="stats">
          <CountStats counters={['received', 'completed', 'failed', 'pending', 'retried']} counts={metrics} />
        </dl>
        <TypeActions
          kind="workflow"
          name={name}
          deadLetters={metrics.deadLetters}
          paused={workflow.paused}
          now={Math.max(monitor.store.reading.value.hubNow, metrics.lastFailedAt ?? 0)}
        />
      </div>
      {data?.error && <Failure message={data.error.message} />}
      <OpenWorkflow workflow={workflow} body={data?.body ?? latestRuns(workflow)} monitor={monitor} query={query} />
    </article>
  );
}

/** Returns the runs of a workflow that the counts have, as of no time: until all are loaded, or in a snapshot. */
function latestRuns({ runs, reached = [] }: WorkflowOverview): WorkflowRuns {
  const failed = runs.filter(({ status }) => status === 'failed').length;
  return {
    now: 0,
    runs: runs.map((run) => ({ ...run, at: [] })),
    waiting: [],
    steps: reached,
    read: { newest: runs.length, failed, waiting: 0 },
  };
}
