import type { JSX } from 'preact';
import type { WorkflowOverview } from '../../server/dashboard/protocol.js';
import { formatCount } from '../format/count.js';
import type { Monitor } from '../polling/monitor.js';
import { viewPath } from '../routing/route.js';
import { CountStats } from '../shared/count-stats.js';
import { WorkflowGraph } from './graph/workflow-graph.js';
import { RunList } from './run-list.js';
import { failedFirst } from './run-segments.js';

/** Number of runs on the card of a workflow that is not open. */
const RUNS_SHOWN = 5;

export interface WorkflowCardProps {
  readonly workflow: WorkflowOverview;
  /** True if the card shows all recent runs. */
  readonly isOpen: boolean;
  readonly monitor: Monitor;
  /** Query that links retain. */
  readonly query: string;
}

/** Card of a workflow with its counts, graph and recent runs. */
export function WorkflowCard({ workflow, isOpen, monitor, query }: WorkflowCardProps): JSX.Element {
  const { name, description, concurrencyPerKey, metrics, runs } = workflow;
  const href = viewPath('workflows', name) + query;
  const sorted = failedFirst(runs);
  const shown = isOpen ? sorted : sorted.slice(0, RUNS_SHOWN);
  const last = runs.length === 1 ? 'last run' : `last ${runs.length} runs`;
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
          <p class="muted">
            At most {formatCount(concurrencyPerKey)} {concurrencyPerKey === 1 ? 'run' : 'runs'} per key at a time
          </p>
        )}
      </div>
      <h4 class="workflow-period">
        Runs <span class="panel-period">since start</span>
      </h4>
      <dl class="stats workflow-stats">
        <CountStats
          counters={['received', 'completed', 'failed', 'pending', 'suspended', 'retried']}
          counts={metrics}
        />
      </dl>
      <h4 class="workflow-period">
        Steps{' '}
        <span class="panel-period">
          {runs.length === 0 ? 'no run yet' : `median duration and failure rate of the ${last}`}
        </span>
      </h4>
      <WorkflowGraph workflow={workflow} rows={monitor.store.rows.value} query={query} />
      <div class="workflow-runs">
        <h4>
          Recent runs <span class="panel-period">failed first</span>
        </h4>
        {runs.length === 0 ? (
          <p class="muted">None yet.</p>
        ) : (
          <RunList runs={shown} serverNow={monitor.serverNow.value} query={query} />
        )}
        {shown.length < runs.length && <a href={href}>All {runs.length} recent runs</a>}
      </div>
    </article>
  );
}
