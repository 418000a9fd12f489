import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { useWidth } from '../shared/use-element.js';
import type { Navigation } from '../state/navigation.js';
import type { FlowEdge, FlowGraph, FlowNode } from './flow-graph.js';
import { HEAD_LENGTH, LOOSE_HEIGHT, layoutFlow, type PlacedEdge, type PlacedService } from './flow-layout.js';
import { FlowLink } from './flow-link.js';

export interface FlowGraphProps {
  readonly graph: FlowGraph;
  readonly navigation: Navigation;
  /** Time of the counts, in epoch milliseconds on the server's clock. */
  readonly now: number;
}

/** Graph as a map: services from left to right, with the lines between their nodes. */
export function FlowMap({ graph, navigation, now }: FlowGraphProps): JSX.Element {
  // The places change with the names and the edges alone, not with the counts.
  const shape = JSON.stringify([
    graph.nodes.map(({ id, service }) => [id, service]),
    graph.edges.map(({ from, to }) => [from, to]),
  ]);
  const box = useRef<HTMLDivElement>(null);
  const available = useWidth(box);
  const layout = useMemo(() => layoutFlow(graph, available), [shape, available]);
  const nodeOf = useMemo(() => new Map(graph.nodes.map((node) => [node.id, node])), [graph]);
  const dots = useDots(nodeOf, layout.edges);
  const query = navigation.query.value;
  const open = navigation.openType.value;
  return (
    <div ref={box} class="card flow-scroll">
      <div class="flow" style={placeOf({ x: 0, y: 0, ...layout })}>
        {layout.services.map(({ service, ...place }) => (
          <div key={service} class="flow-service" style={placeOf(place)}>
            <bdi>{service === '' ? 'Not handled' : service}</bdi>
          </div>
        ))}
        <svg class="flow-edges" viewBox={`0 0 ${layout.width} ${layout.height}`} aria-hidden>
          {/* In the colour of its edge; in browsers without `context-stroke`, in that of the map. */}
          <marker id="flow-head" markerUnits="userSpaceOnUse" overflow="visible">
            <path d={`M0-5 ${HEAD_LENGTH} 0 0 5Z`} fill="context-stroke" />
          </marker>
          {/* The lines of events over those of child runs and schedules. */}
          {layout.edges
            .map(({ edge: { from, to, relation }, path }, index) => {
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
            })
            .reverse()}
        </svg>
        <div ref={dots} class="flow-dots" aria-hidden />
        <ul aria-label="Event types, workflows and schedules">
          {layout.nodes.map(({ node: { id }, ...place }) => {
            const node = nodeOf.get(id);
            return (
              node && (
                <li key={id} class="flow-node" style={placeOf(place)}>
                  <FlowLink
                    node={node}
                    now={now}
                    isLoose={place.height === LOOSE_HEIGHT}
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

function placeOf({ x, y, width, height }: Omit<PlacedService, 'service'>): string {
  return `left:${x}px;top:${y}px;width:${width}px;height:${height}px`;
}

/** Returns the width of an edge in pixels: each step is four times as many events. */
function widthOf(count: number | null): number {
  return count === null || count === 0 ? 1.5 : Math.min(9, 1.5 + Math.log2(1 + count) / 2);
}

/** Dots per edge and poll, and of all edges. */
const MAX_DOTS = 4;
const MAX_ALL_DOTS = 60;
const DOT_MS = 1_400;

/** Number of events that took each link from a node since the start. Those that a schedule or a run emitted are not counted. */
const TAKEN: { readonly [Relation in FlowEdge['relation']]?: (total: FlowNode['total']) => number } = {
  trigger: ({ received }) => received,
  success: ({ completed }) => completed,
  failure: ({ failed }) => failed,
  complete: ({ completed, failed }) => completed + failed,
};

/**
 * Returns a reference to the element in which a dot moves along an edge for an event that took it since the last poll. No
 * dot moves without one, and none at all if the reader prefers reduced motion.
 */
function useDots(
  nodeOf: ReadonlyMap<string, FlowNode>,
  edges: readonly PlacedEdge[],
): { current: HTMLDivElement | null } {
  const box = useRef<HTMLDivElement>(null);
  const last = useRef(nodeOf);
  useEffect(() => {
    const before = last.current;
    last.current = nodeOf;
    if (box.current === null || matchMedia('(prefers-reduced-motion: reduce)').matches) return;
    let left = MAX_ALL_DOTS;
    for (const { edge, path } of edges) {
      const taken = TAKEN[edge.relation];
      const [earlier, now] = [before.get(edge.from), nodeOf.get(edge.from)];
      if (taken === undefined || earlier === undefined || now === undefined) continue;
      const count = Math.min(MAX_DOTS, left, Math.max(0, taken(now.total) - taken(earlier.total)));
      left -= count;
      for (let index = 0; index < count; index += 1)
        moveDot(box.current, path, (index * DOT_MS) / MAX_DOTS, edge.relation);
    }
  }, [nodeOf]);
  return box;
}

function moveDot(box: HTMLElement, path: string, delay: number, relation: FlowEdge['relation']): void {
  const dot = document.createElement('i');
  dot.className = `flow-dot is-${relation}`;
  dot.style.offsetPath = `path("${path}")`;
  box.append(dot);
  const animation = dot.animate({ offsetDistance: ['0%', '100%'] }, { duration: DOT_MS, delay, fill: 'backwards' });
  animation.onfinish = animation.oncancel = () => dot.remove();
}
