import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type GraphLayout, type GraphShape, layoutGraph, NODE_HEIGHT, type Point } from './graph-layout.js';

const shapes: fc.Arbitrary<GraphShape> = fc.record({
  hasTrigger: fc.boolean(),
  stages: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 20 }),
  followUps: fc.integer({ min: 0, max: 3 }),
});

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function nodesOf({ trigger, steps, followUps }: GraphLayout): readonly Point[] {
  return [...(trigger === null ? [] : [trigger]), ...steps, ...followUps];
}

test('any graph has all nodes inside its bounds, without overlaps, and is in one row if it is wider than the page', () => {
  fc.assert(
    fc.property(shapes, fc.integer({ min: 16, max: 150 }), (shape, available) => {
      const layout = layoutGraph(shape, available);
      const nodes = nodesOf(layout);
      expect(nodes).toHaveLength(Number(shape.hasTrigger) + sum(shape.stages) + shape.followUps);
      const columns = new Set(layout.steps.map(({ x }) => x)).size;
      if (layout.width > available + 1e-9) expect(columns).toBe(shape.stages.length);
      for (const [index, { x, y }] of nodes.entries()) {
        expect(Math.min(x, y)).toBeGreaterThanOrEqual(-1e-9);
        expect(x + layout.nodeWidth).toBeLessThanOrEqual(layout.width + 1e-9);
        expect(y + NODE_HEIGHT).toBeLessThanOrEqual(layout.height + 1e-9);
        for (const next of nodes.slice(index + 1)) {
          const isBeside = Math.abs(next.x - x) >= layout.nodeWidth;
          expect(isBeside || Math.abs(next.y - y) >= NODE_HEIGHT).toBe(true);
        }
      }
      let first = 0;
      for (const [stage, size] of shape.stages.entries()) {
        // Each stage has an arrow, except one at the start of the graph.
        expect(layout.stepArrows[first] === '').toBe(stage === 0 && !shape.hasTrigger);
        first += size;
      }
      expect(layout.stepArrows).toHaveLength(first);
      expect(layout.followUpArrows).toHaveLength(shape.followUps);
    }),
  );
});

/** Returns the horizontal and vertical lines of a path as boxes. */
function linesOf(path: string): readonly (readonly [left: number, top: number, right: number, bottom: number])[] {
  let [x, y] = [0, 0];
  return [...path.matchAll(/([MLHhV])(-?[\d.e-]+)(?: (-?[\d.e-]+))?/g)].flatMap(([, command, first, second]) => {
    const [fromX, fromY] = [x, y];
    if (command === 'h') x += Number(first);
    else if (command !== 'V') x = Number(first);
    if (command === 'V') y = Number(first);
    else if (second !== undefined) y = Number(second);
    const isLine = second === undefined;
    return isLine ? [[Math.min(x, fromX), Math.min(y, fromY), Math.max(x, fromX), Math.max(y, fromY)] as const] : [];
  });
}

test('no arrow between steps runs through a step', () => {
  fc.assert(
    fc.property(shapes, fc.integer({ min: 16, max: 150 }), (shape, available) => {
      const { steps, stepArrows, nodeWidth } = layoutGraph(shape, available);
      const crossing = stepArrows
        .flatMap(linesOf)
        .filter(([left, top, right, bottom]) =>
          steps.some(
            ({ x, y }) =>
              right > x + 0.01 && left < x + nodeWidth - 0.01 && bottom > y + 0.01 && top < y + NODE_HEIGHT - 0.01,
          ),
        );
      expect(crossing).toEqual([]);
    }),
  );
});

test('uses one row if it fits, else several rows, else one row that scrolls', () => {
  const shape: GraphShape = { hasTrigger: true, stages: [1, 1, 1, 1, 1], followUps: 2 };
  const sizeAt = (available: number): readonly [columns: number, rows: number] => {
    const { steps } = layoutGraph(shape, available);
    return [new Set(steps.map(({ x }) => x)).size, new Set(steps.map(({ y }) => y)).size];
  };
  expect(sizeAt(90)).toEqual([5, 1]);
  expect(sizeAt(70)).toEqual([3, 2]);
  expect(sizeAt(17)).toEqual([5, 1]);
});

test('every row starts at the left', () => {
  const { steps } = layoutGraph({ hasTrigger: true, stages: [1, 1, 1, 1, 1], followUps: 2 }, 70);
  const [first, second, , fourth] = steps;
  expect(second?.y).toBe(first?.y);
  expect(fourth?.x).toBe(first?.x);
});

test('steps of one stage stand above each other, and each has an arrow from the stage before', () => {
  const { steps, stepArrows } = layoutGraph({ hasTrigger: false, stages: [1, 2, 1], followUps: 0 }, 90);
  expect(new Set(steps.map(({ x }) => x)).size).toBe(3);
  expect(steps[1]?.x).toBe(steps[2]?.x);
  expect(steps[1]?.y).not.toBe(steps[2]?.y);
  expect(stepArrows.map((arrow) => arrow === '')).toEqual([true, false, false, false]);
});

test('parallel steps join in one line before the next ones fork', () => {
  const { steps, stepArrows } = layoutGraph({ hasTrigger: false, stages: [2, 3], followUps: 0 }, 90);
  const [first, , next] = steps;
  expect(next?.x).toBeGreaterThan(first?.x ?? Number.POSITIVE_INFINITY);
  // Between the stages is a place that all lines pass, at which there is one line alone.
  const middle = (next?.x ?? 0) - 1.125;
  const crossing = stepArrows
    .slice(2)
    .flatMap(linesOf)
    .filter(([left, , right]) => left < middle && right > middle);
  expect(crossing.length).toBeGreaterThan(0);
  expect(new Set(crossing.map(([, top]) => top)).size).toBe(1);
});
