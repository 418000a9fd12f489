import type { ComponentChildren, JSX } from 'preact';
import { useRef } from 'preact/hooks';
import type { WorkflowOverview } from '../../server/dashboard/protocol.js';
import { formatDuration } from '../format/duration.js';
import { formatPercent, UNKNOWN } from '../format/number.js';
import { Count } from '../shared/counts.js';
import { Icon } from '../shared/icon.js';
import { EventLink } from '../shared/links.js';
import { pixelsPerRem, useWidth } from '../shared/use-element.js';
import { shownReceived } from '../state/event-row.js';
import type { HubStore } from '../state/hub-store.js';
import { viewPath } from '../state/navigation.js';
import { layoutGraph, NODE_HEIGHT, type Point } from './graph-layout.js';
import { STATE_ICON, STATE_LABEL } from './run-list.js';
import {
  type FollowUp,
  followUpsOf,
  type State,
  type StepSummary,
  stagesOf,
  summarizeSteps,
  WHEN_LABEL,
} from './workflow-summary.js';

export interface WorkflowGraphProps {
  readonly workflow: WorkflowOverview;
  readonly store: HubStore;
  /** Query that links retain. */
  readonly query: string;
}

/** Graph of a workflow from its trigger to its follow-up events. For screen readers it is a list. */
export function WorkflowGraph({ workflow, store, query }: WorkflowGraphProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const available = useWidth(box) / pixelsPerRem();
  const { trigger } = workflow;
  const reading = store.reading.value;
  const receivedOf = (type: string): number | undefined => {
    const row = store.rows.value.get(type);
    return row && shownReceived(row, reading);
  };
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
              <EventNode relation="Trigger" type={trigger} received={receivedOf(trigger)} query={query} />
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
                    received={receivedOf(next.type)}
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

export interface GraphNodeProps {
  readonly at: Point;
  readonly width: number;
  readonly class: string;
  readonly children: ComponentChildren;
}

/** Node of a graph: a list item at its position. */
function GraphNode({ at, width, class: name, children }: GraphNodeProps): JSX.Element {
  return (
    <li
      class={`node ${name}`}
      style={{ left: `${at.x}rem`, top: `${at.y}rem`, width: `${width}rem`, height: `${NODE_HEIGHT}rem` }}
    >
      {children}
    </li>
  );
}

/** Statuses of runs that are in a step now. */
const CURRENT: readonly State[] = ['active', 'retrying', 'suspended'];

/** Step with its median duration, its failure rate and the runs that are in it now. */
function StepNode({ step, query }: { step: StepSummary; query: string }): JSX.Element {
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

export interface EventNodeProps {
  /** Relation of the event to the workflow, such as "Trigger". */
  readonly relation: string;
  readonly type: string;
  /** Events received; `undefined` if the type is not registered on this hub. */
  readonly received: number | undefined;
  /** Query that the link retains. */
  readonly query: string;
}

/** Trigger or follow-up event of a workflow, with its count and a link to its panel. */
function EventNode({ relation, type, received, query }: EventNodeProps): JSX.Element {
  return (
    <>
      <span class="node-line">
        {relation}
        {received !== undefined && (
          <span class="node-count tone-received" title="Events received">
            <Icon name="dot" />
            <span class="visually-hidden">Received: </span>
            <Count value={received} />
          </span>
        )}
      </span>
      <EventLink class="node-name" type={type} query={query} />
    </>
  );
}
