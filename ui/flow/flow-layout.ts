import { groupBy, sumOf } from '../shared/lists.js';
import type { FlowEdge, FlowGraph, FlowNode } from './flow-graph.js';

const NODE_HEIGHT = 44;
/** Height of a node without edges, which is one line. */
export const LOOSE_HEIGHT = 26;
/** Gap between nodes above each other, through which edges run. */
const ROW_GAP = 24;
/** Gap between areas above each other, and beside nodes without edges. */
const AREA_GAP = 12;
const LOOSE_GAP = 6;
/** Width below which a name has too little room beside its count. */
const LOOSE_WIDTH = 196;
/** Nodes of a service that stands below another one. */
const MAX_BELOW = 12;
const MAX_BEND = 56;
/** Distance of edges that share the gap between two rows. */
const LANE_GAP = 3;
/** Length of the head of an edge, which follows its path. */
export const HEAD_LENGTH = 7;
const HEAD = 40;
const PADDING = 20;

/** Place of a node in pixels. */
export interface PlacedNode {
  readonly node: FlowNode;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Edge with the data of its path. */
export interface PlacedEdge {
  readonly edge: FlowEdge;
  readonly path: string;
}

/** Column of nodes, with the place of its left side and of what is below its nodes with edges. */
interface Column {
  readonly left: number;
  readonly bottom: number;
}

/** Area of a service. */
export interface PlacedService {
  readonly service: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface FlowLayout {
  readonly width: number;
  readonly height: number;
  readonly services: readonly PlacedService[];
  readonly nodes: readonly PlacedNode[];
  readonly edges: readonly PlacedEdge[];
}

/**
 * Lays a graph out from left to right: a column, or several, per service, with the nodes in the order in which events pass
 * them. Nodes without edges fill the space below. A service that has no others, and few, stands below another service.
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
      const used = [...new Set(linked.map(rankOf))].sort((a, b) => a - b);
      return {
        service,
        ranked: used.map((rank) => linked.filter((node) => rankOf(node) === rank)),
        loose: all.filter(({ id }) => !isLinked.has(id)),
        mean: sumOf(linked, (node) => rankOf(node)) / Math.max(1, linked.length),
      };
    })
    .sort(
      (a, b) =>
        Number(a.ranked.length === 0) - Number(b.ranked.length === 0) ||
        // What no service handles comes last.
        Number(a.service === '') - Number(b.service === '') ||
        a.mean - b.mean,
    );
  const isLinkedAny = edges.length > 0;
  const beside = services.filter(({ ranked, loose }) => ranked.length > 0 || !isLinkedAny || loose.length > MAX_BELOW);
  const columnCount = sumOf(beside, ({ ranked }) => Math.max(1, ranked.length));
  const unit = (available - beside.length * 2 * PADDING) / columnCount;
  const nodeWidth = Math.round(clamp(0.8 * unit, 168, 240));
  const columnGap = Math.round(clamp(unit - nodeWidth, 28, 72));
  const placed = new Map<string, PlacedNode>();
  const columns: Column[] = [];
  const areas: PlacedService[] = [];
  /** Areas below each other. */
  const stacks: { readonly x: number; readonly width: number; end: number }[] = [];
  let right = 0;
  for (const { service, ranked, loose } of services) {
    // The areas that leave the most space below them.
    const isShort = ranked.length === 0 && loose.length <= MAX_BELOW;
    const above = isShort && isLinkedAny ? stacks.sort((a, b) => a.end - b.end)[0] : undefined;
    const [x, y] = above === undefined ? [right, 0] : [above.x, above.end + AREA_GAP];
    const leftOf = (index: number): number => x + PADDING + index * (nodeWidth + columnGap);
    let bottom = y + HEAD;
    for (const [index, column] of ranked.entries()) {
      for (const [row, node] of orderColumn(column, edges, placed).entries()) {
        const top = HEAD + row * (NODE_HEIGHT + ROW_GAP);
        placed.set(node.id, { node, x: leftOf(index), y: top, width: nodeWidth, height: NODE_HEIGHT });
        bottom = Math.max(bottom, top + NODE_HEIGHT + ROW_GAP);
      }
    }
    // As wide as what is above, or as there is room.
    const given =
      above !== undefined
        ? above.width - 2 * PADDING
        : ranked.length > 0
          ? leftOf(ranked.length) - columnGap - leftOf(0)
          : Math.max(unit, LOOSE_WIDTH);
    const fitting = Math.max(1, Math.floor((given + AREA_GAP) / (LOOSE_WIDTH + AREA_GAP)));
    const looseWidth = (given - (fitting - 1) * AREA_GAP) / fitting;
    for (const index of ranked.keys()) columns.push({ left: leftOf(index), bottom });
    const start = bottom + (ranked.length > 0 && loose.length > 0 ? AREA_GAP : 0);
    for (const [index, node] of loose.entries()) {
      placed.set(node.id, {
        node,
        x: leftOf(0) + (index % fitting) * (looseWidth + AREA_GAP),
        y: start + Math.floor(index / fitting) * (LOOSE_HEIGHT + LOOSE_GAP),
        width: looseWidth,
        height: LOOSE_HEIGHT,
      });
    }
    const ends = [...ranked.flat(), ...loose].flatMap(({ id }) => placed.get(id) ?? []);
    const width = Math.max(...ends.map((place) => place.x + place.width)) + PADDING - x;
    const end = Math.max(...ends.map(endOf)) + PADDING;
    areas.push({ service, x, y, width: above?.width ?? width, height: end - y });
    if (above === undefined) stacks.push({ x, width, end });
    else above.end = end;
    right = Math.max(right, x + width + columnGap / 2);
  }
  return {
    width: Math.max(0, right - columnGap / 2),
    height: Math.max(0, ...areas.map(endOf)),
    services: areas,
    nodes: [...placed.values()],
    edges: edges.flatMap((edge, index) => {
      const [from, to] = [placed.get(edge.from), placed.get(edge.to)];
      if (from === undefined || to === undefined) return [];
      const crossed = columns.filter(({ left }) => left > from.x && left < to.x);
      return { edge, path: pathOf(from, to, crossed, ((index % 3) - 1) * LANE_GAP) };
    }),
  };
}

function endOf({ y, height }: { readonly y: number; readonly height: number }): number {
  return y + height;
}

function clamp(value: number, min: number, max: number): number {
  return Math.max(min, Math.min(max, value));
}

/** Returns the length of the longest way to each node. Edges that close a circle do not count. */
function ranksOf(nodes: readonly FlowNode[], edges: readonly FlowEdge[]): ReadonlyMap<string, number> {
  const incoming = groupBy(edges, ({ to }) => to);
  const ranks = new Map<string, number>();
  const open = new Set<string>();
  const visit = (id: string): number => {
    const known = ranks.get(id);
    if (known !== undefined) return known;
    open.add(id);
    let rank = 0;
    for (const { from } of incoming.get(id) ?? []) if (!open.has(from)) rank = Math.max(rank, visit(from) + 1);
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

/**
 * Returns the path data of an edge. Between the columns that it crosses it runs in the gap between two rows, not behind
 * nodes.
 *
 * @param crossed those columns
 * @param offset distance from the middle of the gap, which edges share
 */
function pathOf(from: PlacedNode, to: PlacedNode, crossed: readonly Column[], offset: number): string {
  const [x1, y1] = [from.x + from.width, from.y + NODE_HEIGHT / 2];
  const [x4, y4] = [to.x - HEAD_LENGTH, to.y + NODE_HEIGHT / 2];
  const [first, last] = [crossed[0], crossed.at(-1)];
  if (first !== undefined && last !== undefined) {
    const bottom = Math.min(...crossed.map((column) => column.bottom));
    const middle = Math.min((y1 + y4) / 2, bottom - ROW_GAP / 2);
    const row = Math.round((middle - HEAD + ROW_GAP / 2) / (NODE_HEIGHT + ROW_GAP));
    const lane = HEAD + row * (NODE_HEIGHT + ROW_GAP) - ROW_GAP / 2 + offset;
    const end = last.left + from.width;
    return `M${x1} ${y1}${bendTo(x1, y1, first.left, lane)}H${end}${bendTo(end, lane, x4, y4)}`;
  }
  if (x4 >= x1) return `M${x1} ${y1}${bendTo(x1, y1, x4, y4)}`;
  // A way back, or to a node in the same column, leaves and arrives on a wider arc.
  return `M${x1} ${y1}C${x1 + MAX_BEND} ${y1 + NODE_HEIGHT} ${x4 - MAX_BEND} ${y4 + NODE_HEIGHT} ${x4} ${y4}`;
}

function bendTo(x1: number, y1: number, x2: number, y2: number): string {
  const middle = (x1 + x2) / 2;
  return `C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`;
}
