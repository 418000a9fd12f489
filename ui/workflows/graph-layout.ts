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
  readonly steps: number;
  readonly followUps: number;
}

export const NODE_HEIGHT = 3.75;

/** Minimum width for the status and the counts of a step in one line. */
const MIN_NODE_WIDTH = 10.5;
const MAX_NODE_WIDTH = 13;
/** Gap between nodes with an arrow. */
const GAP = 2;
/** Gap between stacked nodes. */
const STACK_GAP = 0.75;
const FRAME_PADDING = 0.75;
const ARROW = 0.375;

/** Lays out a workflow from left to right in as many rows as necessary, or from top to bottom if there is little width. */
export function layoutGraph(shape: GraphShape, available: number): GraphLayout {
  const { hasTrigger, steps, followUps } = shape;
  const others = Number(hasTrigger) + Number(followUps > 0);
  const room = available - 2 * FRAME_PADDING + GAP;
  const fitting = Math.floor(room / (MIN_NODE_WIDTH + GAP)) - others;
  if (fitting < Math.min(2, steps)) return layoutDown(shape, available);
  const rows = Math.ceil(steps / fitting);
  const columns = Math.ceil(steps / rows);
  return layoutAcross(shape, rows, columns, Math.min(MAX_NODE_WIDTH, room / (columns + others) - GAP));
}

function layoutAcross(shape: GraphShape, rows: number, columns: number, nodeWidth: number): GraphLayout {
  const { hasTrigger, followUps } = shape;
  const { starts, frameStart, frameEnd } = sequence({ hasTrigger, steps: columns }, nodeWidth);
  const stackHeight = followUps * (NODE_HEIGHT + STACK_GAP) - STACK_GAP;
  const frameHeight = rows * (NODE_HEIGHT + GAP) - GAP + 2 * FRAME_PADDING;
  const height = Math.max(frameHeight, stackHeight);
  const middle = height / 2;
  const frameTop = middle - frameHeight / 2;
  const steps = range(shape.steps).map((index) => ({
    x: starts[index % columns] ?? 0,
    y: frameTop + FRAME_PADDING + Math.floor(index / columns) * (NODE_HEIGHT + GAP),
  }));
  const nextX = frameEnd + GAP - FRAME_PADDING;
  const nextY = range(followUps).map((index) => middle - stackHeight / 2 + index * (NODE_HEIGHT + STACK_GAP));
  return {
    width: followUps > 0 ? nextX + nodeWidth : frameEnd,
    height,
    nodeWidth,
    trigger: hasTrigger ? { x: 0, y: frameTop + FRAME_PADDING } : null,
    steps,
    followUps: nextY.map((y) => ({ x: nextX, y })),
    frame: { x: frameStart, y: frameTop, width: frameEnd - frameStart, height: frameHeight },
    stepArrows: steps.map(({ x, y }, index) => {
      if (index === 0 && !hasTrigger) return '';
      const target = y + NODE_HEIGHT / 2;
      if (index % columns > 0 || index === 0) return `M${x - GAP} ${target}H${x}${arrowHead(x, target)}`;
      const from = steps[index - 1]?.x ?? 0;
      const half = nodeWidth / 2;
      return `M${from + half} ${y - GAP}v${GAP / 2}H${x + half}V${y}${arrowHead(x + half, y, -1)}`;
    }),
    followUpArrows: nextY.map((y) => {
      const target = y + NODE_HEIGHT / 2;
      return `M${frameEnd} ${middle}H${(frameEnd + nextX) / 2}V${target}H${nextX}${arrowHead(nextX, target)}`;
    }),
  };
}

function layoutDown(shape: GraphShape, available: number): GraphLayout {
  const nodeWidth = Math.max(MIN_NODE_WIDTH, Math.min(1.5 * MAX_NODE_WIDTH, available - GAP));
  const { starts, frameStart, frameEnd } = sequence(shape, NODE_HEIGHT);
  const x = FRAME_PADDING;
  const middle = x + nodeWidth / 2;
  const nextY = range(shape.followUps).map((index) => frameEnd + STACK_GAP + index * (NODE_HEIGHT + STACK_GAP));
  return {
    width: GAP + nodeWidth,
    height: (nextY.at(-1) ?? frameEnd - NODE_HEIGHT) + NODE_HEIGHT,
    nodeWidth,
    trigger: shape.hasTrigger ? { x, y: 0 } : null,
    steps: starts.map((y) => ({ x, y })),
    followUps: nextY.map((y) => ({ x: GAP, y })),
    frame: { x: 0, y: frameStart, width: nodeWidth + 2 * FRAME_PADDING, height: frameEnd - frameStart },
    stepArrows: starts.map((y) => (y < GAP ? '' : `M${middle} ${y - GAP}V${y}${arrowHead(middle, y, -1)}`)),
    followUpArrows: nextY.map((y) => {
      const target = y + NODE_HEIGHT / 2;
      return `M${x} ${frameEnd}V${target}H${GAP}${arrowHead(GAP, target)}`;
    }),
  };
}

/** Returns the positions of the steps and their frame along one axis, on which a node has this size. */
function sequence(
  { hasTrigger, steps }: Pick<GraphShape, 'hasTrigger' | 'steps'>,
  size: number,
): { readonly starts: readonly number[]; readonly frameStart: number; readonly frameEnd: number } {
  const stride = size + GAP;
  const frameStart = hasTrigger ? stride - FRAME_PADDING : 0;
  const first = frameStart + FRAME_PADDING;
  return {
    starts: range(steps).map((index) => first + index * stride),
    frameStart,
    frameEnd: first + steps * stride - GAP + FRAME_PADDING,
  };
}

function range(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index);
}

/** Returns the head of an arrow that points right (1) or down (-1). */
function arrowHead(x: number, y: number, turn: 1 | -1 = 1): string {
  return `M${x - ARROW} ${y - ARROW}L${x} ${y}L${x - turn * ARROW} ${y + turn * ARROW}`;
}
