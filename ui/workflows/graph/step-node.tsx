import type { JSX } from 'preact';
import { Icon } from '../../controls/icon.js';
import { UNKNOWN } from '../../format/count.js';
import { formatDuration } from '../../format/duration.js';
import { formatPercent } from '../../format/ratio.js';
import { viewPath } from '../../routing/route.js';
import { STATE_ICON, STATE_LABEL } from '../run-state.js';
import type { State } from '../step-state.js';
import type { StepSummary } from '../step-summaries.js';

/** Statuses of runs that are in a step now. */
const CURRENT: readonly State[] = ['active', 'retrying', 'suspended'];

/** Step with its median duration, its failure rate and the runs that are in it now. */
export function StepNode({ step, query }: { step: StepSummary; query: string }): JSX.Element {
  const { name, agent, runs, medianMs, failureRatio } = step;
  return (
    <>
      <span class="node-line">
        <span class="node-name" title={name}>
          <bdi>{name}</bdi>
        </span>
        {agent !== undefined && (
          <a class="tag" href={viewPath('agents', agent) + query} title={`Agent ${agent}`}>
            agent
          </a>
        )}
      </span>
      <span class="node-line">
        <span class="muted" title="Median duration in the last runs">
          {medianMs === null ? UNKNOWN : formatDuration(medianMs)}
        </span>
        <span class="node-counts">
          {CURRENT.filter((status) => runs[status] > 0).map((status) => (
            <span key={status} class={`node-count is-${status}`} title={`${STATE_LABEL[status]} now`}>
              <Icon name={STATE_ICON[status]} />
              <span class="visually-hidden">{STATE_LABEL[status]}: </span>
              {runs[status]}
            </span>
          ))}
          {runs.failed > 0 && (
            <span class="node-count is-failed" title="Failure rate in the last runs">
              <Icon name="triangle" />
              <span class="visually-hidden">Failure rate: </span>
              {formatPercent(failureRatio)}
            </span>
          )}
        </span>
      </span>
    </>
  );
}
