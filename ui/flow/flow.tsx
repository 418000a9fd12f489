import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Processes } from '../api/decode-views.js';
import { formatCount, formatPercent, formatRate, UNKNOWN } from '../format/number.js';
import { Icon, type IconName } from '../shared/icon.js';
import { useWidth } from '../shared/use-element.js';
import { ViewSection } from '../shared/view-section.js';
import { ViewTable, ViewTableCell } from '../shared/view-table.js';
import type { EventRow } from '../state/event-row.js';
import type { Monitor } from '../state/monitor.js';
import { type Navigation, viewPath } from '../state/navigation.js';
import { failureRatio } from '../state/recent-activity.js';
import {
  type FlowEdge,
  type FlowGraph,
  type FlowKind,
  type FlowNode,
  type FlowSource,
  flowGraph,
  flowId,
} from './flow-graph.js';
import { layoutFlow, type PlacedEdge } from './flow-layout.js';

export interface FlowProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

/** View of all event types, workflows and schedules as a map: what leads to what, how much, and what fails. */
export function Flow({ monitor, navigation }: FlowProps): JSX.Element {
  const { store } = monitor;
  const graph = useFlowGraph(monitor);
  const isEmpty = graph.nodes.length === 0;
  // A map has no room on a phone.
  const [isTable = innerWidth < 600, setTable] = useState<boolean>();
  const [isWhole, setWhole] = useState(false);
  const busy = useBusy(graph);
  const shown = isWhole ? graph : busy;
  const idle = graph.nodes.length - busy.nodes.length;
  const isGrouped = graph.nodes.some(({ kind }) => kind === 'group');
  return (
    <ViewSection
      view="flow"
      store={store}
      aside={
        <span class="flow-aside">
          <span class="panel-period">last 5 min{isGrouped && ' · grouped by prefix'}</span>
          {idle > 0 && (
            <button type="button" class="chip" aria-pressed={isWhole} onClick={() => setWhole(!isWhole)}>
              {formatCount(idle)} without events
            </button>
          )}
          <button type="button" class="chip" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
            Table
          </button>
        </span>
      }
      isEmpty={isEmpty}
      hint={
        <>
          Register event types with <code>hub.event</code>, and the ways between them appear here.
        </>
      }
    >
      {isTable ? (
        <FlowTable graph={shown} navigation={navigation} />
      ) : (
        <>
          <p class="flow-keys">
            <span>on start, success or end</span>
            <span class="is-failure">on failure</span>
            <span class="is-invoke">invokes</span>
            <span class="is-schedule">schedule</span>
            <span class="is-none">no event in 5 min</span>
          </p>
          <FlowMap graph={shown} monitor={monitor} navigation={navigation} />
        </>
      )}
    </ViewSection>
  );
}

/** Number of idle nodes from which they are left out. */
const MIN_IDLE = 12;

/**
 * Returns the graph without nodes that have no edge and no event, if they are many. One that was shown stays while the
 * view is open.
 */
function useBusy(graph: FlowGraph): FlowGraph {
  const shown = useRef(new Set<string>());
  return useMemo(() => {
    const { nodes, edges } = graph;
    const known = shown.current;
    for (const { from, to } of edges) known.add(from).add(to);
    for (const node of nodes)
      if (node.isPaused || node.needsAttention || node.received + node.failed + node.pending > 0) known.add(node.id);
    const busy = nodes.filter(({ id }) => known.has(id));
    if (busy.length > 0 && nodes.length - busy.length >= MIN_IDLE) return { nodes: busy, edges };
    for (const { id } of nodes) known.add(id);
    return graph;
  }, [graph]);
}

/** Returns the graph of the last response. Once per poll: each ends with the processes, and thousands of types take time. */
function useFlowGraph({ store, processes }: Monitor): FlowGraph {
  const loaded = processes.value;
  const serviceOf = useServices(loaded?.body ?? null);
  return useMemo(
    () =>
      flowGraph({
        events: [...store.rows.peek().values()].map(flowEvent),
        workflows: store.workflows.peek(),
        schedules: store.schedules.peek(),
        serviceOf,
      }),
    [loaded ?? store.reading.value],
  );
}

/** Returns the service of each event type and workflow, by `flowId`. They rarely change, and may be thousands. */
function useServices(body: Processes | null): FlowSource['serviceOf'] {
  const { registrations = [], processes = [] } = body ?? {};
  const places = JSON.stringify([processes.map(({ handles, service }) => [handles, service]), registrations]);
  return useMemo(() => {
    const serviceOf = new Map<string, string>();
    // Backwards: of several services that handle a type, the first one is its place.
    for (const [index, { events, workflows }] of [...registrations.entries()].reverse()) {
      const service = processes.find(({ handles }) => handles === index)?.service ?? '';
      for (const type of events) serviceOf.set(flowId('event', type), service);
      for (const name of workflows) serviceOf.set(flowId('workflow', name), service);
    }
    return serviceOf;
  }, [places]);
}

/** Returns what the map shows of an event type. Field by field: each poll reads thousands. */
function flowEvent({ type, details, last5Min, count, status }: EventRow): FlowSource['events'][number] {
  return {
    type,
    needsAttention: status === 'attention',
    onSuccess: details?.onSuccess,
    onFailure: details?.onFailure,
    onComplete: details?.onComplete,
    paused: details?.paused,
    metrics: {
      received: count('received'),
      completed: count('completed'),
      failed: count('failed'),
      cancelled: count('cancelled'),
      pending: count('pending'),
    },
    recent: { last5Min },
  };
}

const RELATION_LABEL: Record<FlowEdge['relation'], string> = {
  trigger: 'starts',
  success: 'on success',
  failure: 'on failure',
  complete: 'on complete',
  invoke: 'invokes',
  schedule: 'when due',
};

/** Returns the hash of a node: its panel beside the map, its view, or the types with its prefix. */
function hrefOf({ kind, name }: FlowNode, query: string): string {
  if (kind === 'event') return viewPath('flow', name) + query;
  if (kind === 'group') return `${viewPath('events')}?q=${encodeURIComponent(name)}`;
  return viewPath(kind === 'workflow' ? 'workflows' : 'schedules', name) + query;
}

const KIND_ICON: Record<FlowKind, IconName> = { event: 'dot', workflow: 'ring', schedule: 'clock', group: 'more' };

function FlowMap({ graph, monitor, navigation }: FlowProps & { graph: FlowGraph }): JSX.Element {
  // The places change with the names and the edges alone, not with the counts.
  const shape = JSON.stringify([
    graph.nodes.map(({ id, service }) => [id, service]),
    graph.edges.map(({ from, to }) => [from, to]),
  ]);
  const box = useRef<HTMLDivElement>(null);
  const available = useWidth(box);
  const layout = useMemo(() => layoutFlow(graph, available), [shape, available]);
  const nodeOf = new Map(graph.nodes.map((node) => [node.id, node]));
  const dots = useDots(graph, layout.edges);
  const query = navigation.query.value;
  const open = navigation.openType.value;
  const linked = new Set(graph.edges.flatMap(({ from, to }) => [from, to]));
  // The current minute and the five before it.
  const seconds = 300 + (monitor.store.reading.peek().hubNow % 60_000) / 1_000;
  return (
    <div ref={box} class="card flow-scroll">
      <div class="flow" style={{ width: `${layout.width}px`, height: `${layout.height}px` }}>
        {layout.services.map(({ service, x, y, width, height }) => (
          <div key={service} class="flow-service" style={placeOf(x, y, width, height)}>
            <bdi>{service === '' ? 'Not handled' : service}</bdi>
          </div>
        ))}
        <svg class="flow-edges" viewBox={`0 0 ${layout.width} ${layout.height}`} aria-hidden="true">
          {layout.edges.map(({ edge: { from, to, relation }, path }, index) => {
            const count = graph.edges[index]?.count ?? null;
            return (
              <path
                key={`${from} ${to} ${relation}`}
                class={`flow-edge is-${relation}`}
                // Where it is not counted, what it comes from or leads to says it.
                data-any={(count ?? nodeOf.get(relation === 'schedule' ? to : from)?.received) !== 0}
                d={path}
                stroke-width={widthOf(count)}
              />
            );
          })}
        </svg>
        <div ref={dots} class="flow-dots" aria-hidden="true" />
        <ul aria-label="Event types, workflows and schedules">
          {layout.nodes.map(({ node: { id }, x, y, width, height }) => {
            const node = nodeOf.get(id);
            return (
              node && (
                <li key={id} class="flow-node" style={placeOf(x, y, width, height)}>
                  <FlowLink
                    node={node}
                    seconds={seconds}
                    isLoose={!linked.has(id)}
                    isOpen={node.kind === 'event' && node.name === open}
                    query={query}
                  />
                </li>
              )
            );
          })}
        </ul>
      </div>
    </div>
  );
}

function placeOf(x: number, y: number, width: number, height: number): Record<string, string> {
  return { left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` };
}

/** Returns the width of an edge in pixels: each step is four times as many events. */
function widthOf(count: number | null): number {
  return count === null || count === 0 ? 1.5 : Math.min(9, 1.5 + Math.log2(1 + count) / 2);
}

interface FlowLinkProps {
  readonly node: FlowNode;
  /** Seconds that the counts cover. */
  readonly seconds: number;
  /** No edge leads to it or from it. */
  readonly isLoose: boolean;
  readonly isOpen: boolean;
  readonly query: string;
}

function FlowLink({ node, seconds, isLoose, isOpen, query }: FlowLinkProps): JSX.Element {
  const { kind, name, received, failed, completed, pending, isPaused, needsAttention, size } = node;
  const ratio = failureRatio({ completed, failed, cancelled: 0 });
  return (
    <a
      class={`is-${kind}${isLoose ? ' is-loose' : ''}${failed > 0 ? ' is-failing' : needsAttention ? ' is-stale' : ''}`}
      href={hrefOf(node, query)}
      title={name}
      aria-current={isOpen ? 'true' : undefined}
    >
      <span class="flow-name">
        <Icon name={isPaused ? 'pause' : failed > 0 ? 'triangle' : needsAttention ? 'clock' : KIND_ICON[kind]} />
        <bdi>{name}</bdi>
        <span class="visually-hidden">
          , {kind}
          {isPaused && ', paused'}
          {needsAttention && ', needs attention'}
        </span>
        {size > 1 && <span class="chip-count">{formatCount(size)}</span>}
      </span>
      {kind !== 'schedule' && (
        <span class="flow-facts">
          {/* A line has room for two facts, beside a name for one. */}
          {received > 0 && !(isLoose && failed + pending > 0) && <span>{formatRate(received / seconds)}</span>}
          {failed > 0 && <span class="tone-failed">{formatPercent(ratio)} failed</span>}
          {pending > 0 && !(failed > 0 && (isLoose || received > 0)) && <span>{formatCount(pending)} pending</span>}
        </span>
      )}
      {ratio !== null && ratio > 0 && <i class="flow-share" style={{ transform: `scaleX(${ratio})` }} />}
    </a>
  );
}

function FlowTable({ graph, navigation }: { graph: FlowGraph; navigation: Navigation }): JSX.Element {
  const nodeOf = new Map(graph.nodes.map((node) => [node.id, node]));
  const query = navigation.query.value;
  const reached = new Set(graph.edges.map(({ to }) => to));
  const first = graph.nodes
    .filter(({ id, kind }) => kind !== 'schedule' && !reached.has(id))
    .map(({ id, received }) => ({ from: null, to: id, relation: null, count: received }));
  const name = (id: string): JSX.Element | undefined => {
    const node = nodeOf.get(id);
    return (
      node && (
        <a class="view-table-name" href={hrefOf(node, query)}>
          <bdi>{node.name}</bdi>
        </a>
      )
    );
  };
  return (
    <ViewTable
      caption="Ways between event types, workflows and schedules"
      columns={['From', 'Relation', 'To', 'Service', 'Events, 5 min', 'Failure rate']}
      class="flow-table"
    >
      {[...graph.edges, ...first].map(({ from, to, relation, count }) => {
        const target = nodeOf.get(to);
        const ratio = target && count ? failureRatio({ ...target, cancelled: 0 }) : null;
        return (
          <tr key={`${from} ${to} ${relation}`}>
            <th scope="row">{from ? name(from) : 'outside'}</th>
            <td>{relation ? RELATION_LABEL[relation] : UNKNOWN}</td>
            <td>{name(to)}</td>
            <td>{target?.service || UNKNOWN}</td>
            <ViewTableCell label="Events, 5 min">{count === null ? UNKNOWN : formatCount(count)}</ViewTableCell>
            <ViewTableCell label="Failure rate" isFailed={!!ratio}>
              {formatPercent(ratio)}
            </ViewTableCell>
          </tr>
        );
      })}
    </ViewTable>
  );
}

/** Dots per edge and poll, and of all edges. */
const MAX_DOTS = 4;
const MAX_ALL_DOTS = 60;
const DOT_MS = 1_400;
const DOT_STEPS = 16;

/**
 * Returns a reference to the element in which a dot moves along an edge for an event that took it since the last poll. No
 * dot moves without one, and none at all if the reader prefers reduced motion.
 */
function useDots(graph: FlowGraph, edges: readonly PlacedEdge[]): { current: HTMLDivElement | null } {
  const box = useRef<HTMLDivElement>(null);
  const last = useRef(new Map<string, FlowNode['total']>());
  useEffect(() => {
    const before = last.current;
    last.current = new Map(graph.nodes.map(({ id, total }) => [id, total]));
    if (box.current === null || matchMedia('(prefers-reduced-motion: reduce)').matches) return;
    let left = MAX_ALL_DOTS;
    for (const { edge, path } of edges) {
      const count = Math.min(MAX_DOTS, left, passed(edge, before, last.current));
      left -= count;
      for (let index = 0; index < count; index += 1)
        moveDot(box.current, path, (index * DOT_MS) / MAX_DOTS, edge.relation);
    }
  }, [graph]);
  return box;
}

/** Returns the number of events that took an edge between two readings. */
function passed(
  { from, relation }: FlowEdge,
  before: ReadonlyMap<string, FlowNode['total']>,
  now: ReadonlyMap<string, FlowNode['total']>,
): number {
  const grown = (id: string, name: keyof FlowNode['total']): number => {
    const earlier = before.get(id);
    return earlier === undefined ? 0 : Math.max(0, (now.get(id)?.[name] ?? 0) - earlier[name]);
  };
  if (relation === 'success') return grown(from, 'completed');
  if (relation === 'failure') return grown(from, 'failed');
  if (relation === 'complete') return grown(from, 'completed') + grown(from, 'failed');
  // What a schedule emitted is not counted.
  return relation === 'trigger' ? grown(from, 'received') : 0;
}

function moveDot(box: HTMLElement, path: string, delay: number, relation: FlowEdge['relation']): void {
  const dot = document.createElement('i');
  dot.className = `flow-dot is-${relation}`;
  box.append(dot);
  const line = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  line.setAttribute('d', path);
  const length = line.getTotalLength() / DOT_STEPS;
  // Transforms alone, which move without the page's thread.
  const frames = Array.from({ length: DOT_STEPS + 1 }, (_, index) => {
    const { x, y } = line.getPointAtLength(index * length);
    return { transform: `translate(${x}px, ${y}px)` };
  });
  const animation = dot.animate(frames, { duration: DOT_MS, delay, fill: 'backwards' });
  animation.onfinish = () => dot.remove();
  animation.oncancel = () => dot.remove();
}
