import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { PlacedRun, WorkflowOverview } from '../../server/dashboard/protocol.js';
import type { WorkflowRuns } from '../api/decode-views.js';
import { formatCount } from '../format/number.js';
import { Segments, Select } from '../shared/choices.js';
import { lookOf } from '../shared/states.js';
import type { Monitor } from '../state/monitor.js';
import { LIVE, RetainedRuns, runPeriods } from './retained-runs.js';
import { failedAlike, failedFirst, RunList } from './run-list.js';
import { listedSteps, reachedSteps, WorkflowGraph } from './workflow-graph.js';
import { stagesOf } from './workflow-summary.js';

export interface OpenWorkflowProps {
  readonly workflow: WorkflowOverview;
  readonly body: WorkflowRuns;
  readonly monitor: Monitor;
  /** Query that links retain. */
  readonly query: string;
}

/** Status of the runs that the list shows. */
export type RunFilter = 'all' | PlacedRun['status'];

const FILTERS: readonly RunFilter[] = ['all', 'failed', 'waiting', 'suspended', 'active', 'completed'];

/** Maximum number of waiting runs that the server reads. */
const MAX_WAITING = 1_000;

/** Number of lines of runs that are shown first. */
const RUNS_SHOWN = 20;

/** Graph of the steps that the runs of a workflow reached, and a list of runs by status or by step. */
export function OpenWorkflow({ workflow, body, monitor, query }: OpenWorkflowProps): JSX.Element {
  const [filter, setFilter] = useState<RunFilter>('all');
  const [step, setStep] = useState<string | null>(null);
  const [isLong, setLong] = useState(false);
  const [chosen, setChosen] = useState(LIVE);
  const { read, now } = body;
  // Else it has the latest runs alone.
  const isLoaded = now > 0;
  const { store, listRuns } = monitor;
  const services = new Set([...body.runs, ...body.waiting].map(({ service }) => service));
  const periods = runPeriods(store.releases.value, services, monitor.serverNow.value);
  const period = periods.find(({ key }) => key === chosen);
  const isListed = workflow.steps.length > 0 || body.steps.length === 0;
  const select = (next: string | null): void => {
    setStep(next);
    setLong(false);
    setChosen(LIVE);
  };
  const show = (next: RunFilter): void => {
    setFilter(next);
    setLong(false);
  };
  const isRetained = listRuns !== null && period !== undefined && period.key !== LIVE;
  const runs = selectRuns(body, filter, step);
  const limit = isLong ? Number.POSITIVE_INFINITY : RUNS_SHOWN;
  return (
    <>
      <h4 class="workflow-period">
        Steps{' '}
        <span class="panel-period">
          {isListed ? `times and counts of the last ${workflow.runs.length} runs` : graphPeriod(read)}
        </span>
      </h4>
      <WorkflowGraph
        workflow={workflow}
        steps={
          isListed
            ? listedSteps(workflow, query)
            : reachedSteps(body.steps, {
                selected: step,
                select: isLoaded ? select : null,
                isCut: read.waiting >= MAX_WAITING,
              })
        }
        stages={stagesOf(isListed ? workflow : body)}
        query={query}
      />
      <div class="workflow-runs">
        <div class="run-filters">
          <h4>
            Runs{' '}
            {isLoaded && !isRetained && <span class="panel-period">{listPeriod(workflow, body, filter, step)}</span>}
          </h4>
          <Segments
            label="Status of the runs"
            options={FILTERS}
            nameOf={(each) => (each === 'all' ? 'All' : lookOf(each)[1])}
            value={filter}
            onChange={show}
          />
          {listRuns !== null && step === null && (
            <Select
              label="Which runs"
              options={periods.map(({ key }) => key)}
              nameOf={(key) => periods.find((each) => each.key === key)?.label ?? key}
              value={period?.key ?? LIVE}
              onChange={setChosen}
            />
          )}
          {step !== null && (
            <button type="button" class="chip" onClick={() => select(null)}>
              Only in <bdi>{step}</bdi> ×<span class="visually-hidden">, show all steps</span>
            </button>
          )}
        </div>
        {isRetained ? (
          <RetainedRuns
            workflow={workflow.name}
            status={filter === 'all' ? [] : [filter]}
            period={period}
            listRuns={listRuns}
            serverNow={monitor.serverNow.value}
            query={query}
          />
        ) : (
          <>
            {runs.length === 0 ? (
              <p class="muted">No such run is retained.</p>
            ) : (
              <RunList runs={runs} limit={limit} serverNow={monitor.serverNow.value} query={query} />
            )}
            <div class="run-filters">
              {failedAlike(runs).length > limit && (
                <button type="button" class="button" onClick={() => setLong(true)}>
                  Show all {formatCount(runs.length)} runs
                </button>
              )}
              {listRuns !== null && step === null && (
                <button type="button" class="button" onClick={() => setChosen('all')}>
                  All retained runs
                </button>
              )}
            </div>
          </>
        )}
      </div>
    </>
  );
}

/** Returns the runs with a status that wait or failed in a step; of every status, or in any step, if there is none. */
export function selectRuns(body: WorkflowRuns, filter: RunFilter, step: string | null): readonly PlacedRun[] {
  // The newest runs first; of those that are suspended, the oldest wait.
  const first = filter === 'suspended' ? [] : body.runs;
  // The last one of a key stays: a run that waits is listed with its waiting steps alone.
  const runs = new Map([...first, ...body.waiting, ...body.runs].map((run) => [runKey(run), run]));
  return failedFirst([...runs.values()]).filter(
    ({ status, at }) => (filter === 'all' || status === filter) && (step === null || at.includes(step)),
  );
}

function runKey({ id, service }: PlacedRun): string {
  return `${service.length} ${service}${id}`;
}

function graphPeriod({ newest, failed, waiting }: WorkflowRuns['read']): string {
  const parts = [
    `median of the ${formatCount(newest)} newest runs`,
    failed > 0 && `${formatCount(failed)} last failures`,
    waiting > 0 && 'suspended now',
  ];
  return parts.filter(Boolean).join(' · ');
}

/** Returns how many of which runs the list is taken from. */
function listPeriod(
  { metrics }: WorkflowOverview,
  { read, waiting }: WorkflowRuns,
  filter: RunFilter,
  step: string | null,
): string {
  const { suspended = 0, failed } = metrics;
  if (step !== null) return 'suspended or failed in the step';
  if (filter === 'failed') return `the last ${formatCount(read.failed)} of ${formatCount(failed)} since start`;
  if (filter === 'suspended' && suspended > waiting.length) {
    return `the ${formatCount(waiting.length)} suspended longest of ${formatCount(suspended)}`;
  }
  const first = read.failed === 0 ? '' : `the last ${formatCount(read.failed)} that failed, then `;
  return `${first}the ${formatCount(read.newest)} newest and those suspended longest`;
}
