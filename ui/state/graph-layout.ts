/** How a workflow is drawn: its trigger, its steps within a frame, and the events that follow it. Lengths are in rem. */
export interface GraphLayout {
  readonly width: number;
  readonly height: number;
  readonly nodeWidth: number;
  readonly trigger: Point | null;
  readonly steps: readonly Point[];
  readonly followUps: readonly Point[];
  readonly frame: Point & { readonly width: number; readonly height: number };
  /** Path data of the arrow into each step; empty where none leads there. */
  readonly stepArrows: readonly string[];
  /** Path data of the arrow to each event that follows. */
  readonly followUpArrows: readonly string[];
}

/** The upper left corner of something. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** How many of each there are. */
export interface GraphShape {
  readonly hasTrigger: boolean;
  readonly steps: number;
  readonly followUps: number;
}

export const NODE_HEIGHT = 3.75;

const MIN_NODE_WIDTH = 8;
const MAX_NODE_WIDTH = 13;
/** Between nodes, for an arrow. */
const GAP = 2;
/** Between nodes that stand together. */
const STACK_GAP = 0.75;
const FRAME_PADDING = 0.75;
const ARROW = 0.375;

/** Lays a workflow out from left to right where it fits in `available`, and from top to bottom otherwise. */
export function layoutGraph(shape: GraphShape, available: number): GraphLayout {
  const columns = Number(shape.hasTrigger) + shape.steps + Number(shape.followUps > 0);
  const nodeWidth = Math.min(MAX_NODE_WIDTH, (available - (columns - 1) * GAP - 2 * FRAME_PADDING) / columns);
  return nodeWidth < MIN_NODE_WIDTH ? layoutDown(shape, available) : layoutAcross(shape, nodeWidth);
}

function layoutAcross({ hasTrigger, steps, followUps }: GraphShape, nodeWidth: number): GraphLayout {
  const stackHeight = followUps * NODE_HEIGHT + Math.max(0, followUps - 1) * STACK_GAP;
  const height = Math.max(NODE_HEIGHT + 2 * FRAME_PADDING, stackHeight);
  const middle = height / 2;
  const y = middle - NODE_HEIGHT / 2;
  const stride = nodeWidth + GAP;
  const frameX = hasTrigger ? stride - FRAME_PADDING : 0;
  const firstX = frameX + FRAME_PADDING;
  const stepPoints = range(steps).map((index) => ({ x: firstX + index * stride, y }));
  const frame = {
    x: frameX,
    y: y - FRAME_PADDING,
    width: steps * stride - GAP + 2 * FRAME_PADDING,
    height: NODE_HEIGHT + 2 * FRAME_PADDING,
  };
  const end = frame.x + frame.width;
  const top = (height - stackHeight) / 2;
  const followUpPoints = range(followUps).map((index) => ({
    x: end + GAP - FRAME_PADDING,
    y: top + index * (NODE_HEIGHT + STACK_GAP),
  }));
  return {
    width: followUps > 0 ? end + GAP - FRAME_PADDING + nodeWidth : end,
    height,
    nodeWidth,
    trigger: hasTrigger ? { x: 0, y } : null,
    steps: stepPoints,
    followUps: followUpPoints,
    frame,
    stepArrows: stepPoints.map(({ x }, index) =>
      index === 0 && !hasTrigger ? '' : `M${x - GAP} ${middle}H${x}${headRight(x, middle)}`,
    ),
    followUpArrows: followUpPoints.map((point) => {
      const target = point.y + NODE_HEIGHT / 2;
      return `M${end} ${middle}H${(end + point.x) / 2}V${target}H${point.x}${headRight(point.x, target)}`;
    }),
  };
}

function layoutDown({ hasTrigger, steps, followUps }: GraphShape, available: number): GraphLayout {
  const indent = GAP;
  const nodeWidth = Math.max(MIN_NODE_WIDTH, Math.min(1.5 * MAX_NODE_WIDTH, available - indent));
  const stride = NODE_HEIGHT + GAP;
  const x = FRAME_PADDING;
  const frameY = hasTrigger ? stride - FRAME_PADDING : 0;
  const stepPoints = range(steps).map((index) => ({ x, y: frameY + FRAME_PADDING + index * stride }));
  const frame = {
    x: 0,
    y: frameY,
    width: nodeWidth + 2 * FRAME_PADDING,
    height: steps * stride - GAP + 2 * FRAME_PADDING,
  };
  const end = frame.y + frame.height;
  const followUpPoints = range(followUps).map((index) => ({
    x: indent,
    y: end + STACK_GAP + index * (NODE_HEIGHT + STACK_GAP),
  }));
  const middle = x + nodeWidth / 2;
  return {
    width: indent + nodeWidth,
    height: (followUpPoints.at(-1)?.y ?? end - NODE_HEIGHT) + NODE_HEIGHT,
    nodeWidth,
    trigger: hasTrigger ? { x, y: 0 } : null,
    steps: stepPoints,
    followUps: followUpPoints,
    frame,
    stepArrows: stepPoints.map(({ y }, index) =>
      index === 0 && !hasTrigger ? '' : `M${middle} ${y - GAP}V${y}${headDown(middle, y)}`,
    ),
    followUpArrows: followUpPoints.map((point) => {
      const target = point.y + NODE_HEIGHT / 2;
      return `M${x} ${end}V${target}H${point.x}${headRight(point.x, target)}`;
    }),
  };
}

function range(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index);
}

function headRight(x: number, y: number): string {
  return `M${x - ARROW} ${y - ARROW}L${x} ${y}L${x - ARROW} ${y + ARROW}`;
}

function headDown(x: number, y: number): string {
  return `M${x - ARROW} ${y - ARROW}L${x} ${y}L${x + ARROW} ${y - ARROW}`;
}
