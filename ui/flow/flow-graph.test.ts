import { expect, test } from 'vitest';
import { countsOf, eventOf, periodOf, recentOf, workflowOf } from '../testing/test-data.js';
import { type FlowSource, flowGraph, flowId, MAX_NODES } from './flow-graph.js';
import { HEAD_LENGTH, layoutFlow } from './flow-layout.js';

const empty: FlowSource = { events: [], workflows: [], schedules: [], serviceOf: new Map() };

test('an edge has the events of the last 5 minutes that took it', () => {
  const { nodes, edges } = flowGraph({
    ...empty,
    events: [
      eventOf('paid', countsOf(20, 3), {
        recent: recentOf(periodOf(7, 2)),
        onSuccess: 'shipped',
        onFailure: 'refused',
        onComplete: 'audited',
      }),
      eventOf('shipped'),
      eventOf('refused'),
      eventOf('audited'),
    ],
    workflows: [
      workflowOf('fulfil', [], { trigger: 'paid', onSuccess: 'gone' }),
      workflowOf('refund', [], { triggers: ['refused', 'paid'], invokedBy: ['fulfil', 'unknown'] }),
    ],
    schedules: [{ name: 'nightly', service: 'shop', emit: 'paid', processes: 1 }],
  });
  expect(edges.map(({ from, to, relation, count }) => [from, relation, to, count])).toEqual([
    ['event paid', 'success', 'event shipped', 7],
    ['event paid', 'failure', 'event refused', 2],
    ['event paid', 'complete', 'event audited', 9],
    ['event paid', 'trigger', 'workflow fulfil', 9],
    ['event refused', 'trigger', 'workflow refund', 0],
    ['event paid', 'trigger', 'workflow refund', 9],
    ['workflow fulfil', 'invoke', 'workflow refund', null],
    ['schedule nightly', 'schedule', 'event paid', null],
  ]);
  expect(nodes.find(({ id }) => id === 'event paid')).toMatchObject({
    received: 9,
    failed: 2,
    total: { received: 23 },
  });
});

test('a type that no process handles stands beside what it leads to', () => {
  const serviceOf = new Map([[flowId('workflow', 'fulfil'), 'shop']]);
  const workflows = [workflowOf('fulfil', [], { trigger: 'paid' })];
  const { nodes } = flowGraph({ ...empty, events: [eventOf('paid'), eventOf('alone')], workflows, serviceOf });
  expect(nodes.map(({ name, service }) => [name, service])).toEqual([
    ['paid', 'shop'],
    ['alone', ''],
    ['fulfil', 'shop'],
  ]);
});

test('thousands of types are groups of a prefix, with their sums', () => {
  const events = Array.from({ length: 5_000 }, (_, index) =>
    eventOf(`area${index % 50}.type${index}`, countsOf(1, 0, { pending: 2, suspended: 1 }), {
      recent: recentOf(periodOf(2, 1)),
      ...(index % 50 === 0 && { onSuccess: `area1.type${index + 1}` }),
    }),
  );
  const { nodes, edges } = flowGraph({ ...empty, events });
  expect(nodes).toHaveLength(50);
  expect(
    nodes.every(
      ({ kind, size, received, failed, pending, suspended }) =>
        kind === 'group' && size === 100 && received === 300 && failed === 100 && pending === 100 && suspended === 100,
    ),
  ).toBe(true);
  expect(edges).toEqual([{ from: 'group  area0', to: 'group  area1', relation: 'success', count: 200 }]);
  expect(nodes.length).toBeLessThanOrEqual(MAX_NODES);
});

test.each([3, 30, 150])('services are columns from left to right, %d nodes stand apart, and circles end', (count) => {
  const chain = ['a', 'b', 'c', 'd'].map((type, index, all) =>
    eventOf(type, countsOf(1), { onSuccess: all[(index + 1) % all.length] ?? 'a' }),
  );
  const serviceOf = new Map(['a', 'b'].map((type) => [flowId('event', type), 'shop']));
  for (const type of ['c', 'd']) serviceOf.set(flowId('event', type), 'mail');
  const loose = Array.from({ length: count }, (_, index) => eventOf(`loose ${index}`));
  const layout = layoutFlow(flowGraph({ ...empty, events: [...chain, ...loose], serviceOf }), 1_200);
  expect(layout.services.map(({ service }) => service)).toEqual(['shop', 'mail', '']);
  expect(layout.nodes).toHaveLength(4 + count);
  for (const { x, y, width, height } of layout.nodes) {
    expect(x + width).toBeLessThanOrEqual(layout.width);
    expect(y + height).toBeLessThan(layout.height);
  }
  // A few without edges take the space below.
  if (count < 10) expect(layout.services[2]).toMatchObject({ x: layout.services[0]?.x });
  for (const areas of [layout.services, layout.nodes]) {
    for (const a of areas) for (const b of areas) expect(a === b || areApart(a, b)).toBe(true);
  }
  expect(layout.edges).toHaveLength(4);
});

test('an edge that passes a column stays clear of the nodes above and below it', () => {
  // a leads to b and to the end, past the two nodes of the column between.
  const events = [
    eventOf('a', countsOf(1), { onSuccess: 'b', onComplete: 'end', onFailure: 'b2' }),
    eventOf('b', countsOf(1), { onSuccess: 'end' }),
    eventOf('b2', countsOf(1)),
    eventOf('end', countsOf(1)),
  ];
  const { nodes, edges } = layoutFlow(flowGraph({ ...empty, events, serviceOf: new Map() }), 1_200);
  const path = edges.find(({ edge }) => edge.relation === 'complete')?.path ?? '';
  const lane = Number(/ ([\d.]+)H/.exec(path)?.[1]);
  const passed = nodes.filter(({ node }) => node.name.startsWith('b'));
  expect(passed).toHaveLength(2);
  for (const { y, height } of passed) {
    expect(Math.min(Math.abs(lane - y), Math.abs(lane - y - height))).toBeGreaterThanOrEqual(8);
  }
});

test('an edge ends before its node, with room for its head', () => {
  const events = [eventOf('a', countsOf(1), { onSuccess: 'b' }), eventOf('b', countsOf(1))];
  const { nodes, edges } = layoutFlow(flowGraph({ ...empty, events, serviceOf: new Map() }), 1_200);
  const end = nodes.find(({ node }) => node.name === 'b');
  const [x, y] =
    edges[0]?.path
      .split(/[ MCH]/)
      .slice(-2)
      .map(Number) ?? [];
  expect(x).toBe((end?.x ?? 0) - HEAD_LENGTH);
  expect(y).toBe((end?.y ?? 0) + (end?.height ?? 0) / 2);
});

interface Area {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

function areApart(a: Area, b: Area): boolean {
  return a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
}
