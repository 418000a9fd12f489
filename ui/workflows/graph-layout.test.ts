import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type GraphLayout, type GraphShape, layoutGraph, NODE_HEIGHT, type Point } from './graph-layout.js';

const shapes: fc.Arbitrary<GraphShape> = fc.record({
  hasTrigger: fc.boolean(),
  steps: fc.integer({ min: 1, max: 20 }),
  followUps: fc.integer({ min: 0, max: 3 }),
});

function nodesOf({ trigger, steps, followUps }: GraphLayout): readonly Point[] {
  return [...(trigger === null ? [] : [trigger]), ...steps, ...followUps];
}

test('any graph has all nodes inside its bounds, without overlaps', () => {
  fc.assert(
    fc.property(shapes, fc.integer({ min: 16, max: 150 }), (shape, available) => {
      const layout = layoutGraph(shape, available);
      const nodes = nodesOf(layout);
      expect(nodes).toHaveLength(Number(shape.hasTrigger) + shape.steps + shape.followUps);
      expect(layout.width).toBeLessThanOrEqual(available + 1e-9);
      for (const [index, { x, y }] of nodes.entries()) {
        expect(Math.min(x, y)).toBeGreaterThanOrEqual(-1e-9);
        expect(x + layout.nodeWidth).toBeLessThanOrEqual(layout.width + 1e-9);
        expect(y + NODE_HEIGHT).toBeLessThanOrEqual(layout.height + 1e-9);
        for (const next of nodes.slice(index + 1)) {
          const isBeside = Math.abs(next.x - x) >= layout.nodeWidth;
          expect(isBeside || Math.abs(next.y - y) >= NODE_HEIGHT).toBe(true);
        }
      }
      expect(layout.stepArrows.filter(Boolean)).toHaveLength(shape.steps - Number(!shape.hasTrigger));
      expect(layout.followUpArrows).toHaveLength(shape.followUps);
    }),
  );
});

test('uses one row if it fits, else several rows, else one column', () => {
  const shape: GraphShape = { hasTrigger: true, steps: 5, followUps: 2 };
  const linesOf = (available: number): readonly [columns: number, rows: number] => {
    const { steps } = layoutGraph(shape, available);
    return [new Set(steps.map(({ x }) => x)).size, new Set(steps.map(({ y }) => y)).size];
  };
  expect(linesOf(90)).toEqual([5, 1]);
  expect(linesOf(70)).toEqual([3, 2]);
  expect(linesOf(17)).toEqual([1, 5]);
});

test('every row starts at the left', () => {
  const { steps } = layoutGraph({ hasTrigger: true, steps: 5, followUps: 2 }, 70);
  const [first, second, , fourth] = steps;
  expect(second?.y).toBe(first?.y);
  expect(fourth?.x).toBe(first?.x);
});
