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

test('whatever there is to draw: all of it is there, inside, in order, and nothing covers anything else', () => {
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
        const next = nodes[index + 1];
        if (next !== undefined) {
          expect(next.x >= x + layout.nodeWidth || next.y >= y + NODE_HEIGHT).toBe(true);
        }
      }
      expect(layout.stepArrows.filter(Boolean)).toHaveLength(shape.steps - Number(!shape.hasTrigger));
      expect(layout.followUpArrows).toHaveLength(shape.followUps);
    }),
  );
});

test('goes across where there is room, and down where there is not', () => {
  const shape: GraphShape = { hasTrigger: true, steps: 3, followUps: 2 };
  expect(new Set(layoutGraph(shape, 70).steps.map(({ y }) => y)).size).toBe(1);
  expect(new Set(layoutGraph(shape, 17).steps.map(({ x }) => x)).size).toBe(1);
});
