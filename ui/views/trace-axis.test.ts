import { expect, test } from 'vitest';
import type { EventDetails, StepIntrospection } from '../../server/dashboard/protocol.js';
import { SERVER_NOW } from '../testing/test-data.js';
import { spanOf } from '../workflows/step-bars.js';
import {
  axisMarks,
  busyRows,
  fitMarks,
  foldTurns,
  joinElements,
  mostAtOnce,
  traceAxis,
  waitsIn,
} from './trace-axis.js';
import { traceRows } from './trace-rows.js';

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

test('400 elements of a map are one row with their time, the median and the slowest, and open one by one', () => {
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
    ['400 × reindex shard', 'failed', '1 failed (0.3%) · median 8 ms · slowest [299]: 900 ms', 3_998],
  ]);
  expect(joined[2]?.bars.length).toBeLessThanOrEqual(60);
  const open = joinElements(rows, new Set([joined[2]?.key ?? '']));
  expect(open).toHaveLength(403);
  expect(open[3]).toMatchObject({ name: 'reindex shard[0]', depth: 2 });
});

test('collapsed waits take 4 % each, and the rest of the axis is for what runs', () => {
  const sleep: StepIntrospection = { ...step('sleep', 100, 86_400_000), kind: 'sleep' };
  const steps = [step('a', 0, 100), sleep, step('b', 86_400_000, 86_400_300)];
  const rows = traceRows([run(steps, SERVER_NOW + 86_400_300)], SERVER_NOW + 86_400_300);
  const span = spanOf(rows);
  const whole = traceAxis(span, []);
  expect(whole.place(SERVER_NOW + 100)).toBeLessThan(0.001);
  const { cuts, place } = traceAxis(span, waitsIn(span, rows));
  expect(cuts).toEqual([{ from: SERVER_NOW + 100, to: SERVER_NOW + 86_400_000 }]);
  expect(place(SERVER_NOW + 100)).toBe(24);
  expect(place(SERVER_NOW + 86_400_000)).toBe(28);
  expect(place(span.to)).toBe(100);
});

test('the overview counts the steps that run, not the run around them', () => {
  const rows = traceRows([run([step('a', 0, 1_000), step('b', 500, 1_000)], SERVER_NOW + 1_000)], SERVER_NOW + 1_000);
  const counts = busyRows(rows, spanOf(rows));
  expect([counts[10], counts[100]].map((count = 0) => Math.round(count))).toEqual([1, 2]);
});

test('steps that follow each other are one at a time in the overview, however short they are', () => {
  const steps = Array.from({ length: 1_000 }, (_, index) => step(`s${index}`, index, index + 1));
  const rows = traceRows([run(steps, SERVER_NOW + 1_000)], SERVER_NOW + 1_000);
  for (const count of busyRows(rows, spanOf(rows))) expect(count).toBeCloseTo(1);
});

test.each([
  [3, ['1 ms', '2 ms']],
  [1_990, ['400 ms', '800 ms', '1.2 s', '1.6 s']],
  [17_600, ['4 s', '8 s', '12 s', '16 s']],
  [86_400_000, ['6 h', '12 h', '18 h']],
  [60 * 86_400_000, []],
])('an axis of %d ms has ticks at %j', (ms, ticks) => {
  const axis = traceAxis({ from: SERVER_NOW, to: SERVER_NOW + ms }, []);
  expect(axisMarks(axis, SERVER_NOW).map(({ text }) => text)).toEqual(ticks);
});

test('a wait that is cut out has its duration, and the ticks after it have the time since its end', () => {
  const steps = [step('a', 0, 1_000), step('b', 401_000, 402_000)];
  const rows = traceRows([run(steps, SERVER_NOW + 402_000)], SERVER_NOW + 402_000);
  const axis = traceAxis(spanOf(rows), waitsIn(spanOf(rows), rows));
  expect(axisMarks(axis, SERVER_NOW)).toEqual([
    { left: 19.2, text: '400 ms' },
    { left: 38.4, text: '800 ms' },
    { left: 48, text: 'cut 6 min 40 s', isCut: true },
    { left: 71.2, text: '+400 ms' },
    { left: 90.4, text: '+800 ms' },
  ]);
});

test('the texts of an axis do not overlap, and the first ones have precedence', () => {
  const marks = [
    { left: 0, text: '0' },
    { left: 100, text: '1 min 9 s' },
    { left: 10, text: '10 s' },
    { left: 20, text: '20 s' },
    { left: 90, text: '1 min' },
  ];
  const shown = (character: number): string[] => fitMarks(marks, character).map(({ text }) => text);
  expect(shown(1)).toEqual(['0', '1 min 9 s', '10 s', '20 s']);
  expect(shown(2)).toEqual(['0', '1 min 9 s', '20 s']);
});

test('the most rows that run at once are those that overlap, however long the request is', () => {
  const mostOf = (now: number, ...spans: readonly (readonly [from: number, to: number])[]): number => {
    const steps = spans.map(([from, to], index) => step(`step ${index}`, from, to));
    return mostAtOnce(traceRows([run(steps, SERVER_NOW + now)], SERVER_NOW + now));
  };
  expect(mostOf(100)).toBe(1);
  expect(mostOf(100, [0, 50], [50, 100])).toBe(1);
  expect(mostOf(100, [0, 51], [50, 100])).toBe(2);
  // Long before others, and in the time of another one.
  expect(mostOf(25_000, [0, 19], [3, 6], [4, 6], [100, 25_000])).toBe(3);
});

test('a turn of an agent is one row with its tool calls, unless one of them failed', () => {
  const call = (name: string, from: number, fails = false, ms = 50): StepIntrospection => ({
    ...step(name, from, from + ms),
    kind: 'tool',
    ...(fails && { turn: { isToolError: true } }),
  });
  const turn = (name: string, from: number): StepIntrospection => ({ ...step(name, from, from + 700), kind: 'model' });
  const steps = [
    turn('turn 1', 0),
    call('turn 1 / find_order', 700),
    turn('turn 2', 800),
    call('turn 2 / find_order', 1_500),
    call('turn 2 / mail', 1_550),
    turn('turn 3', 1_600),
    call('turn 3 / mail', 2_300, true),
    turn('turn 4', 2_400),
    // A delegate is one call, with turns and calls of its own.
    call('turn 4 / ask', 3_100, false, 750),
    turn('turn 4 / ask / turn 1', 3_100),
    call('turn 4 / ask / turn 1 / find_order', 3_800),
  ];
  const rows = traceRows([run(steps, SERVER_NOW + 3_850)], SERVER_NOW + 3_850);
  // A delegate runs with its turns and calls.
  expect(mostAtOnce(rows)).toBe(1);
  const folded = foldTurns(rows, new Set());
  expect(
    folded.slice(1).map(({ name, kind, isOpen, ranMs, bars }) => [name, kind, isOpen, ranMs, bars.length]),
  ).toEqual([
    ['turn 1', '50 ms find_order', false, 750, 2],
    ['turn 2', '100 ms 2 calls', false, 800, 3],
    ['turn 3', '', undefined, 750, 2],
    ['mail', 'tool', undefined, 50, 1],
    // What runs at once counts once.
    ['turn 4', '750 ms ask', false, 1_450, 4],
  ]);
  // The time of the model is told apart from that of the tool.
  expect(folded[1]?.bars.map(({ isModel }) => isModel)).toEqual([true, undefined]);
  const open = foldTurns(rows, new Set([folded[2]?.key ?? '']));
  expect(open.slice(2, 5).map(({ name, kind, isOpen, ranMs }) => [name, kind, isOpen, ranMs])).toEqual([
    ['turn 2', '', true, 800],
    ['find_order', 'tool', undefined, 50],
    ['mail', 'tool', undefined, 50],
  ]);
});
