import { expect, test } from 'vitest';
import type { EventDetails, StepIntrospection } from '../../server/dashboard/protocol.js';
import { SERVER_NOW } from '../testing/test-data.js';
import { busyRows, joinElements, tickStep, traceAxis, waitsIn } from './trace-axis.js';
import { spanOf, traceRows } from './trace-rows.js';

function run(steps: readonly StepIntrospection[], endedAt: number): EventDetails {
  return {
    id: 'r',
    kind: 'workflow',
    type: 'reindex',
    service: 'shop',
    status: 'completed',
    requestId: 'r',
    acceptedAt: SERVER_NOW,
    startedAt: SERVER_NOW,
    endedAt,
    runMs: endedAt - SERVER_NOW,
    attempt: 1,
    attempts: [],
    steps,
  };
}

function step(
  name: string,
  from: number,
  to: number,
  status: StepIntrospection['status'] = 'completed',
): StepIntrospection {
  return { name, kind: 'run', status, startedAt: SERVER_NOW + from, endedAt: SERVER_NOW + to, durationMs: to - from };
}

test('400 elements of a map are one row with their time and the slowest, and open one by one', () => {
  const shards = Array.from({ length: 400 }, (_, index) =>
    step(
      `reindex shard[${index}]`,
      index * 10,
      index * 10 + (index === 299 ? 900 : 8),
      index === 7 ? 'failed' : 'completed',
    ),
  );
  const rows = traceRows([run([step('list', 0, 5), ...shards], SERVER_NOW + 4_000)], SERVER_NOW + 4_000);
  expect(rows).toHaveLength(402);
  const joined = joinElements(rows, new Set());
  expect(joined.map(({ name, state, note, ranMs }) => [name, state, note, ranMs])).toEqual([
    ['reindex', 'completed', '', 4_000],
    ['list', 'completed', '', 5],
    ['400 × reindex shard', 'failed', '1 failed (0.3%) · slowest [299]: 900 ms', 3_998],
  ]);
  expect(joined[2]?.bars.length).toBeLessThanOrEqual(60);
  const open = joinElements(rows, new Set([joined[2]?.key ?? '']));
  expect(open).toHaveLength(403);
  expect(open[3]).toMatchObject({ name: 'reindex shard[0]', depth: 2 });
});

test('collapsed waits take 2 % each, and the rest of the axis is for what runs', () => {
  const sleep: StepIntrospection = { ...step('sleep', 100, 86_400_000), kind: 'sleep' };
  const steps = [step('a', 0, 100), sleep, step('b', 86_400_000, 86_400_300)];
  const rows = traceRows([run(steps, SERVER_NOW + 86_400_300)], SERVER_NOW + 86_400_300);
  const span = spanOf(rows);
  const whole = traceAxis(span, []);
  expect(whole.place(SERVER_NOW + 100)).toBeLessThan(0.001);
  const { cuts, place } = traceAxis(span, waitsIn(span, rows));
  expect(cuts).toEqual([{ from: SERVER_NOW + 100, to: SERVER_NOW + 86_400_000 }]);
  expect(place(SERVER_NOW + 100)).toBe(24.5);
  expect(place(SERVER_NOW + 86_400_000)).toBe(26.5);
  expect(place(span.to)).toBe(100);
});

test('the overview counts the steps that run, not the run around them', () => {
  const rows = traceRows([run([step('a', 0, 1_000), step('b', 500, 1_000)], SERVER_NOW + 1_000)], SERVER_NOW + 1_000);
  const counts = busyRows(rows, spanOf(rows));
  expect([counts[10], counts[100]]).toEqual([1, 2]);
});

test.each([
  [3, 1],
  [1_990, 400],
  [17_600, 4_000],
  [86_400_000, 21_600_000],
  [60 * 86_400_000, null],
])('an axis of %d ms has a tick every %d ms', (ms, step) => {
  expect(tickStep(traceAxis({ from: SERVER_NOW, to: SERVER_NOW + ms }, []))).toBe(step);
});

test('an axis whose waits are cut out has no ticks', () => {
  const steps = [step('a', 0, 100), step('b', 900, 1_000)];
  const rows = traceRows([run(steps, SERVER_NOW + 1_000)], SERVER_NOW + 1_000);
  expect(tickStep(traceAxis(spanOf(rows), waitsIn(spanOf(rows), rows)))).toBeNull();
});
