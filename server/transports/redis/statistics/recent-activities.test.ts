import fc from 'fast-check';
import { expect, it } from 'vitest';
import { DurationSketch } from '../../statistics/durations.js';
import { recentMinutes, trendMinutes } from '../../statistics/periods.js';
import { RecentActivities, RecentReader } from './recent-activities.js';

const current = 29_922_760;

interface Minute {
  readonly ago: number;
  readonly isOpen: boolean;
  readonly received: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly retried: number;
  readonly waits: ReadonlyMap<number, number>;
  readonly durations: ReadonlyMap<number, number>;
}

const count = fc.integer({ min: 0, max: 5_000 });
const buckets = fc
  .array(fc.tuple(fc.integer({ min: -34, max: 60 }), fc.integer({ min: 1, max: 5_000 })), { maxLength: 6 })
  .map((entries) => new Map(entries));
const minute: fc.Arbitrary<Minute> = fc.record({
  ago: fc.integer({ min: 0, max: trendMinutes + 3 }),
  isOpen: fc.boolean(),
  received: count,
  completed: count,
  failed: fc.integer({ min: 100, max: 200 }),
  cancelled: fc.integer({ min: 0, max: 100 }),
  retried: count,
  waits: buckets,
  durations: buckets,
});
const minutesOfType = fc.uniqueArray(minute, { selector: ({ ago }) => ago, maxLength: 12 });

function countsOf({ received, completed, failed, cancelled, retried }: Minute): readonly (readonly [string, number])[] {
  return Object.entries({ r: received, c: completed, f: failed, x: cancelled, t: retried }).filter(([, n]) => n > 0);
}

function openLine(each: Minute): string {
  const counts = [
    ...[...each.waits].map(([bucket, n]) => `w${bucket}=${n}`),
    ...[...each.durations].map(([bucket, n]) => `d${bucket}=${n}`),
    ...countsOf(each).map(([name, n]) => `${name}=${n}`),
  ];
  return [current - each.ago, ...counts].join(' ');
}

function base36(number: number): string {
  return number.toString(36).toUpperCase();
}

function run(kind: string, counts: ReadonlyMap<number, number>): string {
  if (counts.size === 0) return '';
  const first = Math.min(...counts.keys());
  const length = Math.max(...counts.keys()) - first + 1;
  const found = Array.from({ length }, (_, index) => counts.get(first + index));
  return `${kind}${first}${found.map((n) => `=${n === undefined ? '' : base36(n)}`).join('')}`;
}

function closedLine(each: Minute): string {
  const period = base36((current - each.ago) % 36 ** 3).padStart(3, '0');
  const counts = countsOf(each).map(([name, n]) => name + base36(n));
  return `${period}0000${counts.join('')}${run('w', each.waits)}${run('d', each.durations)}\n`;
}

function textsOf(minutes: readonly Minute[]): [open: string, trend: string] {
  const closed = minutes.filter(({ isOpen }) => !isOpen).map(closedLine);
  return [
    minutes
      .filter(({ isOpen }) => isOpen)
      .map(openLine)
      .join('\n'),
    `${current - 1}\n${closed.join('')}`,
  ];
}

function p95(minutes: readonly Minute[], of: (each: Minute) => ReadonlyMap<number, number>): number | null {
  const sketch = new DurationSketch();
  for (const each of minutes) for (const [bucket, n] of of(each)) sketch.addBucket(bucket, n);
  return sketch.percentile(0.95);
}

function expected(minutes: readonly Minute[]) {
  const last = minutes.filter(({ ago }) => ago < recentMinutes);
  const sum = (of: (each: Minute) => number): number => last.reduce((total, each) => total + of(each), 0);
  const column = (of: (each: Minute) => number): number[] =>
    Array.from({ length: trendMinutes }, (_, index) => {
      const found = minutes.find(({ ago }) => ago === trendMinutes - 1 - index);
      return found === undefined ? 0 : of(found);
    });
  return {
    last5Min: {
      received: sum(({ received }) => received),
      completed: sum(({ completed }) => completed),
      failed: sum(({ failed }) => failed),
      cancelled: sum(({ cancelled }) => cancelled),
      retried: sum(({ retried }) => retried),
    },
    waitP95Ms: p95(last, ({ waits }) => waits),
    durationP95Ms: p95(last, ({ durations }) => durations),
    minutes: { received: column(({ received }) => received), failed: column((each) => each.failed - each.cancelled) },
  };
}

it('reads the minutes of one type after the other', () => {
  fc.assert(
    fc.property(fc.array(minutesOfType, { minLength: 1, maxLength: 4 }), (types) => {
      const reader = new RecentReader(current);
      const read = types.map((minutes) => reader.read(...textsOf(minutes)));
      expect(read).toEqual(types.map(expected));
    }),
  );
});

it('reads the same from texts that it knows as from new ones', () => {
  const texts = fc.array(minutesOfType.map(textsOf), { minLength: 2, maxLength: 4 });
  const place = fc.record({ open: fc.nat(), trend: fc.nat() });
  const poll = fc.record({
    minute: fc.constantFrom(current, current, current + 1),
    types: fc.array(place, { maxLength: 3 }),
  });
  fc.assert(
    fc.property(texts, fc.array(poll, { minLength: 2, maxLength: 8 }), (pool, polls) => {
      const activities = new RecentActivities();
      const bodies: (readonly [unknown, string])[] = [];
      for (const { minute, types } of polls) {
        // Texts of two types together have open lines of minutes that are closed, as those of a late process.
        const opens = types.map(({ open }) => pool[open % pool.length]?.[0] ?? '');
        const trends = types.map(({ trend }) => (trend % 5 === 4 ? '' : (pool[trend % pool.length]?.[1] ?? '')));
        const read = activities.read(minute, opens, trends);
        expect(read).toEqual(opens.map((open, index) => new RecentReader(minute).read(open, trends[index] ?? '')));
        for (const [index, again] of activities.read(minute, opens, trends).entries()) expect(again).toBe(read[index]);
        bodies.push([read, JSON.stringify(read)]);
      }
      for (const [read, text] of bodies) expect(JSON.stringify(read)).toBe(text);
    }),
    { numRuns: 300 },
  );
});

it('takes an open line in place of a closed one of the same minute', () => {
  const reader = new RecentReader(current);
  const { last5Min, minutes } = reader.read(`${current - 1} r=3 e5=2`, `${current - 1}\n${closedHeadOf(1)}r9c9\n`);
  expect([last5Min.received, last5Min.completed, minutes.received.at(-2)]).toEqual([3, 2, 3]);
});

it.each([
  ['', ''],
  ['x', 'x'],
  [`${current} r= =4 5 r=r`, `${current}\n\n`],
  ['-1 r=3\n\n', `${current - 30 * 24 * 60}\n${closedHeadOf(1)}r9\n`],
  [`${current} `, `${current}\n!!!0000!\n${closedHeadOf(1)}w=\n`],
])('counts what no script can have written as 0: %j %j', (open, trend) => {
  const { last5Min, minutes } = new RecentReader(current).read(open, trend);
  expect([last5Min.received, minutes.received.length]).toEqual([0, trendMinutes]);
});

function closedHeadOf(ago: number): string {
  return `${base36((current - ago) % 36 ** 3).padStart(3, '0')}0000`;
}
