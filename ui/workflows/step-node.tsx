import type { JSX } from 'preact';
import type { StepStatus } from '../../server/dashboard/protocol.js';
import { viewPath } from '../routing/route.js';
import { Icon } from '../shared/icon.js';
import { RunState, STATE_ICON, STATE_LABEL } from './run-state.js';
import type { StepSummary } from './step-summaries.js';

/** Statuses that count as runs in a step. Waiting runs have not reached it yet. */
const COUNTED: readonly StepStatus[] = ['active', 'retrying', 'completed', 'failed'];

/** Step with its status and the counts of its recent runs. */
export function StepNode({ step, query }: { step: StepSummary; query: string }): JSX.Element {
  return (
    <>
      <span class="node-line">
        <span class="node-name" title={step.name}>
          <bdi>{step.name}</bdi>
        </span>
        {step.agent !== undefined && (
          <a class="tag" href={viewPath('agents', step.agent) + query} title={`Agent ${step.agent}`}>
            agent
          </a>
        )}
      </span>
      <span class="node-line">
        <RunState status={step.status} />
        <span class="node-counts">
          {COUNTED.filter((status) => step.runs[status] > 0).map((status) => (
            <span key={status} class={`node-count is-${status}`} title={`${STATE_LABEL[status]}, in the recent runs`}>
              <Icon name={STATE_ICON[status]} />
              <span class="visually-hidden">{STATE_LABEL[status]}: </span>
              {step.runs[status]}
            </span>
          ))}
        </span>
      </span>
    </>
  );
}
