import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { ReachedStep, WorkflowOverview } from '../../server/dashboard/protocol.js';
import { formatDuration } from '../format/duration.js';
import { formatCount, formatPercent } from '../format/number.js';
import { Icon } from '../shared/icon.js';
import { TypeLink } from '../shared/links.js';
import { lookOf } from '../shared/states.js';
import { useKept, useWidth } from '../shared/use-element.js';
import { viewPath } from '../state/navigation.js';
import { layoutGraph, NODE_HEIGHT, type Point } from './graph-layout.js';
import {
  type FollowUp,
  followUpsOf,
  type State,
  type StepSummary,
  summarizeSteps,
  WHEN_LABEL,
} from './workflow-summary.js';

/** Step in the graph of a workflow. */
export interface GraphStep {
  readonly name: string;
  readonly status: State;
  /** Everything that the content depends on: a node is kept from poll to poll until this changes. */
  readonly shown: string;
  readonly content: () => ComponentChildren;
}

export interface WorkflowGraphProps {
  readonly workflow: WorkflowOverview;
  readonly steps: readonly GraphStep[];
  /** Number of steps of each stage, in order. */
  readonly stages: readonly number[];
  /** Query that links retain. */
  readonly query: string;
}

/** Graph of a workflow from its trigger to its follow-up events. For screen readers it is a list. */
export function WorkflowGraph({ workflow, steps, stages, query }: WorkflowGraphProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  // Its padding takes a rem at each side.
  const available = useWidth(box, 'rem') - 2;
  const { trigger, triggers = [] } = workflow;
  const followUps = followUpsOf(workflow);
  const shape = { hasTrigger: trigger !== undefined, stages, followUps: followUps.length };
  const place = JSON.stringify([shape, available]);
  const layout = useMemo(() => layoutGraph(shape, available), [place]);
  const { width, height, nodeWidth, frame } = layout;
  const kept = useKept();
  // Where it scrolls, what failed comes into view once, also if it is loaded later.
  const hasFailed = useRef(false);
  hasFailed.current ||= available > 0 && steps.some(({ status }) => status === 'failed');
  useEffect(() => {
    const failed = box.current?.querySelector<HTMLElement>('.node.is-failed');
    if (box.current && failed) box.current.scrollLeft = failed.offsetLeft - 48;
  }, [hasFailed.current]);
  const followUpClasses = followUps.map((followUp) => (isUsed(followUp, workflow) ? WHEN_TONE[followUp.when] : ''));
  return (
    <div ref={box} class="graph-box" {...(width > available && { tabIndex: 0, role: 'group', 'aria-label': 'Graph' })}>
      <div class="graph" style={{ width: `${width}rem`, height: `${height}rem` }}>
        {kept('', [place, followUpClasses, ...steps.map(({ status }) => status)].join(), () => (
          <svg class="graph-lines" viewBox={`0 0 ${width} ${height}`} aria-hidden>
            <rect class="graph-frame" {...frame} rx="0.625" />
            {layout.stepArrows.map((line, index) => (
              <path key={index} class={`arrow ${steps[index]?.status === 'active' ? 'is-active' : ''}`} d={line} />
            ))}
            {layout.followUpArrows.map((line, index) => (
              <path key={index} class={`arrow ${followUpClasses[index]}`} d={line} />
            ))}
          </svg>
        ))}
        <ol aria-label={`${workflow.name}, from start to end`}>
          {trigger !== undefined && layout.trigger !== null && (
            <GraphNode at={layout.trigger} width={nodeWidth} class="node-event">
              <EventNode relation="Trigger" type={trigger} others={triggers.slice(1)} query={query} />
            </GraphNode>
          )}
          {layout.steps.map((at, index) => {
            const step = steps[index];
            return (
              step &&
              kept(`step ${step.name}`, `${place} ${index} ${step.shown}`, () => (
                <GraphNode key={step.name} at={at} width={nodeWidth} class={`is-${step.status}`}>
                  {step.content()}
                </GraphNode>
              ))
            );
          })}
          {layout.followUps.map((at, index) => {
            const next = followUps[index];
            return (
              next && (
                <GraphNode key={next.when} at={at} width={nodeWidth} class="node-event">
                  <EventNode relation={WHEN_LABEL[next.when]} type={next.type} query={query} />
                </GraphNode>
              )
            );
          })}
        </ol>
      </div>
    </div>
  );
}

const WHEN_TONE: Record<FollowUp['when'], string> = { success: 'is-completed', failure: 'is-failed', complete: '' };

/** Returns the steps of a list with the results of the recent runs. */
export function listedSteps(workflow: WorkflowOverview, query: string): readonly GraphStep[] {
  return summarizeSteps(workflow).map((step) => ({
    name: step.name,
    status: step.status,
    shown: JSON.stringify([step, query]),
    content: () => <StepNode step={step} query={query} />,
  }));
}

/** Step whose runs are selected, and a function that selects those of another one. */
export interface StepSelection {
  readonly selected: string | null;
  /** `null` until its runs are loaded. */
  readonly select: ((step: string | null) => void) | null;
  /** More runs wait than were read. */
  readonly isCut: boolean;
}

/** Returns the steps that runs reached, each with a button that selects its runs. */
export function reachedSteps(steps: readonly ReachedStep[], selection: StepSelection): readonly GraphStep[] {
  return steps.map((step) => ({
    name: step.name,
    status: step.failed > 0 ? 'failed' : step.waiting > 0 ? 'suspended' : 'completed',
    shown: JSON.stringify([step, selection.selected === step.name, selection.isCut]),
    content: () => <ReachedNode step={step} selection={selection} />,
  }));
}

interface ReachedNodeProps {
  readonly step: ReachedStep;
  readonly selection: StepSelection;
}

/** Step that runs reached, with its median duration, the runs that wait in it and those that failed in it. */
function ReachedNode({ step, selection }: ReachedNodeProps): JSX.Element {
  const { name, times, isCut, waiting, failed, failureRatio, medianMs } = step;
  const isSelected = selection.selected === name;
  const share = failureRatio === undefined ? '' : `, ${formatPercent(failureRatio)} of the newest that ended it`;
  return (
    <>
      <span class="node-line">
        <button
          type="button"
          class="node-name"
          aria-pressed={isSelected}
          title={name}
          disabled={selection.select === null}
          onClick={() => selection.select?.(isSelected ? null : name)}
        >
          <bdi>{name}</bdi>
        </button>
        {times > 1 && (
          <span class="muted">
            ×{formatCount(times)}
            {isCut && '+'}
          </span>
        )}
      </span>
      <NodeFacts
        ms={medianMs}
        counts={[
          waiting > 0 && { state: 'suspended', text: `${formatCount(waiting)}${selection.isCut ? '+' : ''}` },
          failed > 0 && {
            state: 'failed',
            label: 'Failed here',
            text: formatCount(failed),
            title: `Failed here: ${failed} of the runs that failed last${share}`,
          },
        ]}
      />
    </>
  );
}

interface NodeFactsProps {
  /** Median duration; absent or `null` if it is not known. */
  readonly ms: number | null | undefined;
  /** Runs by their state in the step; `false` for none. */
  readonly counts: readonly (
    | false
    | { readonly state: State; readonly label?: string; readonly text: string; readonly title?: string }
  )[];
}

/** Duration of a step, and the runs that are in it or failed in it. */
function NodeFacts({ ms = null, counts }: NodeFactsProps): JSX.Element {
  return (
    <span class="node-line">
      <span class="muted">{formatDuration(ms)}</span>
      <span class="node-counts">
        {counts.map((count) => {
          if (!count) return null;
          const [icon, name] = lookOf(count.state);
          return (
            <span key={count.state} class={`node-count is-${count.state}`} title={count.title}>
              <Icon name={icon} />
              <span class="visually-hidden">{count.label ?? name}: </span>
              {count.text}
            </span>
          );
        })}
      </span>
    </span>
  );
}

/** Returns true if one of the recent runs emitted a follow-up event. */
function isUsed(followUp: FollowUp, { runs }: WorkflowOverview): boolean {
  return runs.some(
    ({ status }) =>
      (followUp.when !== 'failure' && status === 'completed') || (followUp.when !== 'success' && status === 'failed'),
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
      <NodeFacts
        ms={medianMs}
        counts={[
          ...CURRENT.map((state) => runs[state] > 0 && { state, text: formatCount(runs[state]) }),
          runs.failed > 0 && { state: 'failed', label: 'Failure rate', text: formatPercent(failureRatio) },
        ]}
      />
    </>
  );
}

export interface EventNodeProps {
  /** Relation of the event to the workflow, such as "Trigger". */
  readonly relation: string;
  readonly type: string;
  /** Types that start a run as well. */
  readonly others?: readonly string[];
  /** Query that the link retains. */
  readonly query: string;
}

/** Trigger or follow-up event of a workflow, with a link to its panel. */
function EventNode({ relation, type, others = [], query }: EventNodeProps): JSX.Element {
  return (
    <>
      <span class="node-line" title={others.join(', ')}>
        {relation}
        {others.length > 0 && ` and ${others.length} more`}
      </span>
      <TypeLink class="node-name" type={type} query={query} />
    </>
  );
}
