/** Layout of a workflow graph: the trigger, the steps in a frame, and the follow-up events. Lengths are in rem. */
export interface GraphLayout {
  readonly width: number;
  readonly height: number;
  readonly nodeWidth: number;
  readonly trigger: Point | null;
  readonly steps: readonly Point[];
  readonly followUps: readonly Point[];
  readonly frame: Point & { readonly width: number; readonly height: number };
  /** Path data of the arrow to each step; empty if there is none. */
  readonly stepArrows: readonly string[];
  /** Path data of the arrow to each follow-up event. */
  readonly followUpArrows: readonly string[];
}

/** Top left corner of an element. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Number of nodes of each kind. */
export interface GraphShape {
  readonly hasTrigger: boolean;
  /** Number of steps of each stage, at least one stage. The steps of one stage run at the same time. */
  readonly stages: readonly number[];
  readonly followUps: number;
}

export const NODE_HEIGHT = 3;

/** Minimum width for the status and the counts of a step in one line. */
const MIN_NODE_WIDTH = 10.5;
const MAX_NODE_WIDTH = 13;
/** Gap between nodes with an arrow. */
const GAP = 2;
/** Gap between stacked nodes. */
const STACK_GAP = 0.5;
const FRAME_PADDING = 0.75;
const ARROW = 0.375;
/** Distance from the steps of a stage to where they join, and from where the next ones fork. */
const BEND = 0.5;

/**
 * Lays out a workflow from left to right in as many rows as necessary, or in one row that is wider than what is available
 * if that has no room for two stages. The steps of one stage stand above each other.
 */
export function layoutGraph(shape: GraphShape, available: number): GraphLayout {
  const { hasTrigger, stages, followUps } = shape;
  const others = Number(hasTrigger) + Number(followUps > 0);
  const room = available - 2 * FRAME_PADDING + GAP;
  const fitting = Math.floor(room / (MIN_NODE_WIDTH + GAP)) - others;
  const rows = fitting < Math.min(2, stages.length) ? 1 : Math.ceil(stages.length / fitting);
  const columns = Math.ceil(stages.length / rows);
  const nodeWidth = Math.max(MIN_NODE_WIDTH, Math.min(MAX_NODE_WIDTH, room / (columns + others) - GAP));
  return layoutAcross(shape, columns, nodeWidth);
}

/** Steps of a stage, or the trigger. */
interface StagePlace {
  readonly x: number;
  /** Top of each of its steps. */
  readonly tops: readonly number[];
  /** Height of the line that leads to it. */
  readonly turn: number;
}

function layoutAcross(shape: GraphShape, columns: number, nodeWidth: number): GraphLayout {
  const { hasTrigger, stages, followUps } = shape;
  const stride = nodeWidth + GAP;
  const frameStart = hasTrigger ? stride - FRAME_PADDING : 0;
  const frameEnd = frameStart + 2 * FRAME_PADDING + columns * stride - GAP;
  const rows = range(Math.ceil(stages.length / columns)).map((row) => stages.slice(row * columns, (row + 1) * columns));
  const heights = rows.map((row) => stackHeight(Math.max(...row)));
  const frameHeight = heights.reduce((sum, height) => sum + height + GAP, 2 * FRAME_PADDING - GAP);
  const height = Math.max(frameHeight, stackHeight(followUps));
  const middle = height / 2;
  const frameTop = middle - frameHeight / 2;
  let top = frameTop + FRAME_PADDING;
  const places = rows.flatMap((row, index) => {
    const between = top - GAP / 2;
    const rowMiddle = top + (heights[index] ?? 0) / 2;
    top += (heights[index] ?? 0) + GAP;
    return row.map(
      (size, column): StagePlace => ({
        x: frameStart + FRAME_PADDING + column * stride,
        tops: stackTops(size, rowMiddle),
        // From the row above, it runs between the rows.
        turn: index > 0 && column === 0 ? between : rowMiddle,
      }),
    );
  });
  const trigger = hasTrigger ? { x: 0, y: (places[0]?.turn ?? middle) - NODE_HEIGHT / 2 } : null;
  const nextX = frameEnd + GAP - FRAME_PADDING;
  const nextTops = stackTops(followUps, middle);
  return {
    width: followUps > 0 ? nextX + nodeWidth : frameEnd,
    height,
    nodeWidth,
    trigger,
    steps: places.flatMap(({ x, tops }) => tops.map((y) => ({ x, y }))),
    followUps: nextTops.map((y) => ({ x: nextX, y })),
    frame: { x: frameStart, y: frameTop, width: frameEnd - frameStart, height: frameHeight },
    stepArrows: places.flatMap((place, index) => {
      const { x, tops } = places[index - 1] ?? { x: 0, tops: trigger ? [trigger.y] : [] };
      return arrowsTo(place, x + nodeWidth, tops);
    }),
    followUpArrows: nextTops.map((y) => {
      const target = y + NODE_HEIGHT / 2;
      return `M${frameEnd} ${middle}H${(frameEnd + nextX) / 2}V${target}H${nextX}${arrowHead(nextX, target)}`;
    }),
  };
}

/**
 * Returns the arrows to the steps of a stage; empty ones if there is nothing before it. What is before it joins in one
 * line before it forks: each step follows all of these, not one.
 *
 * @param start right side of the steps before it
 * @param sources tops of these
 */
function arrowsTo({ x, tops, turn }: StagePlace, start: number, sources: readonly number[]): string[] {
  if (sources.length === 0) return tops.map(() => '');
  const fork = x - BEND;
  const joined = sources.map((top) => `M${start} ${top + NODE_HEIGHT / 2}h${BEND}V${turn}H${fork}`).join('');
  return tops.map((top, index) => {
    const target = top + NODE_HEIGHT / 2;
    return `${index === 0 ? joined : ''}M${fork} ${turn}V${target}H${x}${arrowHead(x, target)}`;
  });
}

/** Returns the height of nodes above each other. */
function stackHeight(nodes: number): number {
  return Math.max(0, nodes * (NODE_HEIGHT + STACK_GAP) - STACK_GAP);
}

/** Returns the tops of nodes above each other. */
function stackTops(nodes: number, middle: number): readonly number[] {
  return range(nodes).map((index) => middle - stackHeight(nodes) / 2 + index * (NODE_HEIGHT + STACK_GAP));
}

function range(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index);
}

/** Returns the head of an arrow that points right. */
function arrowHead(x: number, y: number): string {
  return `M${x - ARROW} ${y - ARROW}L${x} ${y}L${x - ARROW} ${y + ARROW}`;
}
