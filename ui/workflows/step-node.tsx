import type { JSX } from 'preact';
import type { StepStatus } from '../../server/dashboard/protocol.js';
import { viewPath } from '../routing/route.js';
import { Icon } from '../shared/icon.js';
import { RunState, STATE_ICON, STATE_LABEL } from './run-state.js';
import type { StepView } from './step-summaries.js';

/** Where runs stand that are counted on a step. Those that wait are not in it yet. */
const COUNTED: readonly StepStatus[] = ['active', 'retrying', 'completed', 'failed'];

/** A step with its state and its counts over the recent runs. */
export function StepNode({ step, query }: { step: StepView; query: string }): JSX.Element {
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
            <span key={status} class={`node-count is-${status}`} title={`${STATE_LABEL[status]}, of the recent runs`}>
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
