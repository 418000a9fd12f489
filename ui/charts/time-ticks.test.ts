import { expect, test } from 'vitest';
import { timeTicks } from './chart-shape.js';

const HOUR = 3_600_000;
const NOON = Date.UTC(2026, 0, 5, 12, 0, 0);

function clock(ticks: readonly number[]): string[] {
  return ticks.map((at) => new Date(at).toISOString().slice(11, 16));
}

test.each<[string, number, number, string[]]>([
  ['an hour', NOON - 50 * 60_000, 4, ['11:15', '11:30', '11:45', '12:00']],
  ['a day', NOON - 23 * HOUR, 4, ['18:00', '00:00', '06:00', '12:00']],
])('ticks of %s are at round times', (_, from, max, expected) => {
  expect(clock(timeTicks(from, NOON, max, 0))).toEqual(expected);
});

test('ticks are round in the zone of the viewer', () => {
  expect(clock(timeTicks(NOON - 24 * HOUR, NOON, 1, 5.5 * HOUR))).toEqual(['18:30']);
});
