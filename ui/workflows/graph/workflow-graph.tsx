import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import type { WorkflowOverview } from '../../../server/dashboard/protocol.js';
import { type FollowUp, followUpsOf, WHEN_LABEL } from '../../shared/follow-up-events.js';
import { pixelsPerRem, useWidth } from '../../shared/use-width.js';
import type { EventRow } from '../../store/rows/event-row.js';
import { stagesOf, summarizeSteps } from '../step-summaries.js';
import { EventNode } from './event-node.js';
import { layoutGraph } from './graph-layout.js';
import { GraphNode } from './graph-node.js';
import { StepNode } from './step-node.js';

export interface WorkflowGraphProps {
  readonly workflow: WorkflowOverview;
  readonly rows: ReadonlyMap<string, EventRow>;
  /** Query that links retain. */
  readonly query: string;
}

/** Graph of a workflow from its trigger to its follow-up events. For screen readers it is a list. */
export function WorkflowGraph({ workflow, rows, query }: WorkflowGraphProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const available = useWidth(box) / pixelsPerRem();
  const { trigger } = workflow;
  const steps = summarizeSteps(workflow);
  const followUps = followUpsOf(workflow);
  const layout = layoutGraph(
    { hasTrigger: trigger !== undefined, stages: stagesOf(workflow), followUps: followUps.length },
    available,
  );
  const { width, height, nodeWidth, frame } = layout;
  return (
    <div ref={box} class="graph-box">
      <div class="graph" style={{ width: `${width}rem`, height: `${height}rem` }}>
        <svg class="graph-lines" viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
          <rect class="graph-frame" {...frame} rx="0.625" />
          {layout.stepArrows.map((line, index) => (
            <path key={index} class={`arrow arrow-${steps[index]?.status}`} d={line} />
          ))}
          {layout.followUpArrows.map((line, index) => (
            <path
              key={index}
              class={`arrow ${isUsed(followUps[index], workflow) ? `arrow-${followUps[index]?.when}` : ''}`}
              d={line}
            />
          ))}
        </svg>
        <ol aria-label={`${workflow.name}, from start to end`}>
          {trigger !== undefined && layout.trigger !== null && (
            <GraphNode at={layout.trigger} width={nodeWidth} class="node-event">
              <EventNode relation="Trigger" type={trigger} row={rows.get(trigger)} query={query} />
            </GraphNode>
          )}
          {layout.steps.map((at, index) => {
            const step = steps[index];
            return (
              step && (
                <GraphNode key={step.name} at={at} width={nodeWidth} class={`is-${step.status}`}>
                  <StepNode step={step} query={query} />
                </GraphNode>
              )
            );
          })}
          {layout.followUps.map((at, index) => {
            const next = followUps[index];
            return (
              next && (
                <GraphNode key={next.when} at={at} width={nodeWidth} class="node-event">
                  <EventNode
                    relation={WHEN_LABEL[next.when]}
                    type={next.type}
                    row={rows.get(next.type)}
                    query={query}
                  />
                </GraphNode>
              )
            );
          })}
        </ol>
      </div>
    </div>
  );
}

/** Returns true if one of the recent runs emitted a follow-up event. */
function isUsed(followUp: FollowUp | undefined, { runs }: WorkflowOverview): boolean {
  return runs.some(
    ({ status }) =>
      (followUp?.when !== 'failure' && status === 'completed') || (followUp?.when !== 'success' && status === 'failed'),
  );
}
