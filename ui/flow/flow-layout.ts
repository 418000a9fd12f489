import type { FlowEdge, FlowGraph, FlowNode } from './flow-graph.js';

const NODE_HEIGHT = 44;
/** Height of a node without edges, which is one line. */
const LOOSE_HEIGHT = 26;
const ROW_GAP = 12;
const LOOSE_GAP = 6;
const MAX_BEND = 56;
const HEAD = 40;
const PADDING = 20;

/** Place of a node in pixels. */
export interface PlacedNode {
  readonly node: FlowNode;
  readonly x: number;
  readonly y: number;
  readonly height: number;
}

/** Curve of an edge: two end points and two control points. */
export interface PlacedEdge {
  readonly edge: FlowEdge;
  readonly curve: readonly [
    x1: number,
    y1: number,
    x2: number,
    y2: number,
    x3: number,
    y3: number,
    x4: number,
    y4: number,
  ];
}

/** Area of a service. */
export interface PlacedService {
  readonly service: string;
  readonly x: number;
  readonly width: number;
}

export interface FlowLayout {
  readonly nodeWidth: number;
  readonly width: number;
  readonly height: number;
  readonly services: readonly PlacedService[];
  readonly nodes: readonly PlacedNode[];
  readonly edges: readonly PlacedEdge[];
}

/**
 * Lays a graph out from left to right: a column, or several, per service, with the nodes in the order in which events pass
 * them. Nodes without edges fill the space below.
 *
 * @param available width that the map should have if that is possible
 */
export function layoutFlow({ nodes, edges }: FlowGraph, available: number): FlowLayout {
  const ranks = ranksOf(nodes, edges);
  const rankOf = ({ id }: FlowNode): number => ranks.get(id) ?? 0;
  const isLinked = new Set(edges.flatMap(({ from, to }) => [from, to]));
  const services = [...new Set(nodes.map(({ service }) => service))]
    .map((service) => {
      const all = nodes.filter((node) => node.service === service);
      const linked = all.filter(({ id }) => isLinked.has(id));
      const mean = linked.reduce((sum, node) => sum + rankOf(node), 0) / Math.max(1, linked.length);
      return { service, linked, loose: all.filter(({ id }) => !isLinked.has(id)), mean };
    })
    // What no service handles comes last.
    .sort((a, b) => Number(a.service === '') - Number(b.service === '') || a.mean - b.mean);
  const columnCount = services.reduce((sum, { linked }) => sum + Math.max(1, new Set(linked.map(rankOf)).size), 0);
  const unit = (available - services.length * 2 * PADDING) / columnCount;
  const nodeWidth = Math.round(clamp(0.8 * unit, 168, 240));
  const columnGap = Math.round(clamp(unit - nodeWidth, 28, 72));
  const placed = new Map<string, PlacedNode>();
  const areas: PlacedService[] = [];
  let x = 0;
  let height = 0;
  for (const { service, linked, loose } of services) {
    const used = [...new Set(linked.map(rankOf))].sort((a, b) => a - b);
    const columns = used.map((rank) => linked.filter((node) => rankOf(node) === rank));
    let bottom = HEAD;
    for (const [index, column] of columns.entries()) {
      const left = x + PADDING + index * (nodeWidth + columnGap);
      for (const [row, node] of orderColumn(column, edges, placed).entries()) {
        const y = HEAD + row * (NODE_HEIGHT + ROW_GAP);
        placed.set(node.id, { node, x: left, y, height: NODE_HEIGHT });
        bottom = Math.max(bottom, y + NODE_HEIGHT + ROW_GAP);
      }
    }
    // As many columns as the linked nodes take, and more if there are many.
    const looseColumns = Math.max(columns.length, Math.ceil(loose.length / 36), 1);
    const gap = bottom > HEAD && loose.length > 0 ? 2 * ROW_GAP : 0;
    for (const [index, node] of loose.entries()) {
      const left = x + PADDING + (index % looseColumns) * (nodeWidth + (columns.length > 0 ? columnGap : ROW_GAP));
      placed.set(node.id, {
        node,
        x: left,
        y: bottom + gap + Math.floor(index / looseColumns) * (LOOSE_HEIGHT + LOOSE_GAP),
        height: LOOSE_HEIGHT,
      });
    }
    const all = [...linked, ...loose].flatMap(({ id }) => placed.get(id) ?? []);
    const right = Math.max(...all.map((place) => place.x + nodeWidth)) + PADDING;
    height = Math.max(height, ...all.map((place) => place.y + place.height + PADDING));
    areas.push({ service, x, width: right - x });
    x = right + columnGap / 2;
  }
  return {
    nodeWidth,
    width: Math.max(0, x - columnGap / 2),
    height,
    services: areas,
    nodes: [...placed.values()],
    edges: edges.flatMap((edge) => {
      const [from, to] = [placed.get(edge.from), placed.get(edge.to)];
      return from === undefined || to === undefined ? [] : { edge, curve: curveOf(from, to, nodeWidth) };
    }),
  };
}

function clamp(value: number, min: number, max: number): number {
  return Math.max(min, Math.min(max, value));
}

/** Returns the length of the longest way to each node. Edges that close a circle do not count. */
function ranksOf(nodes: readonly FlowNode[], edges: readonly FlowEdge[]): ReadonlyMap<string, number> {
  const incoming = new Map<string, string[]>();
  for (const { from, to } of edges) incoming.set(to, [...(incoming.get(to) ?? []), from]);
  const ranks = new Map<string, number>();
  const open = new Set<string>();
  const visit = (id: string): number => {
    const known = ranks.get(id);
    if (known !== undefined) return known;
    open.add(id);
    let rank = 0;
    for (const from of incoming.get(id) ?? []) if (!open.has(from)) rank = Math.max(rank, visit(from) + 1);
    open.delete(id);
    ranks.set(id, rank);
    return rank;
  };
  for (const { id } of nodes) visit(id);
  return ranks;
}

/** Returns the nodes of a column at the mean height of those on their left that lead to them, so that few edges cross. */
function orderColumn(
  column: readonly FlowNode[],
  edges: readonly FlowEdge[],
  placed: ReadonlyMap<string, PlacedNode>,
): readonly FlowNode[] {
  const heights = new Map(
    column.map((node, index) => {
      const ys = edges.flatMap(({ from, to }) => (to === node.id ? (placed.get(from)?.y ?? []) : []));
      return [node, ys.length === 0 ? HEAD + index * (NODE_HEIGHT + ROW_GAP) : ys.reduce((a, b) => a + b) / ys.length];
    }),
  );
  return [...column].sort((a, b) => (heights.get(a) ?? 0) - (heights.get(b) ?? 0));
}

function curveOf(from: PlacedNode, to: PlacedNode, nodeWidth: number): PlacedEdge['curve'] {
  const [x1, y1] = [from.x + nodeWidth, from.y + NODE_HEIGHT / 2];
  const [x4, y4] = [to.x, to.y + NODE_HEIGHT / 2];
  const isBack = x4 < x1;
  const bend = isBack ? MAX_BEND : Math.max(MAX_BEND / 2, (x4 - x1) / 2);
  // A way back, or to a node in the same column, leaves and arrives on a wider arc.
  const drop = isBack ? NODE_HEIGHT : 0;
  return [x1, y1, x1 + bend, y1 + drop, x4 - bend, y4 + drop, x4, y4];
}

/** Returns the path data of a curve. */
export function pathOf([x1, y1, x2, y2, x3, y3, x4, y4]: PlacedEdge['curve']): string {
  return `M${x1} ${y1}C${x2} ${y2} ${x3} ${y3} ${x4} ${y4}`;
}

/** Returns points of a curve at equal steps, for an animation. */
export function pointsOf(curve: PlacedEdge['curve'], steps: number): readonly (readonly [x: number, y: number])[] {
  const [x1, y1, x2, y2, x3, y3, x4, y4] = curve;
  return Array.from({ length: steps + 1 }, (_, index) => {
    const t = index / steps;
    const [a, b, c, d] = [(1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t ** 2, t ** 3];
    return [a * x1 + b * x2 + c * x3 + d * x4, a * y1 + b * y2 + c * y3 + d * y4];
  });
}
